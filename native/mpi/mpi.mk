# libpenstock-mpi.so for one MPI, which is preloaded beside libpenstock-posix.so: make mpi MPICC=mpicc.mpich
# make install MPICC=mpicc.mpich installs it, too, below lib/penstock; once for each MPI.
MPICC ?= mpicc
# MPIs of one family have the same ABI: MPICH (also Intel MPI, Cray MPICH, MVAPICH), Open MPI, and the standard ABI of MPI 5.
MPI_NAMES = $(shell $(MPICC) -E -dM mpi/header.h 2>/dev/null | sed -n 's/^.define \(OPEN_MPI\|MPI_ABI\|MPI_VERSION\) .*/\1/p')
MPI_FAMILY = $(if $(filter OPEN_MPI,$(MPI_NAMES)),openmpi,$(if $(filter MPI_ABI,$(MPI_NAMES)),abi,$(if \
    $(filter MPI_VERSION,$(MPI_NAMES)),mpich,$(error $(MPICC) is not the C compiler of an MPI))))
MPI_SOURCES := $(wildcard mpi/*.c)
MPI_HEADERS := $(wildcard mpi/*.h) posix/layer.h posix/flow.h

.PHONY: mpi
mpi:
	@$(MAKE) --no-print-directory MPI_FOLDER=$(BUILD)/mpi/$(MPI_FAMILY) $(BUILD)/mpi/$(MPI_FAMILY)/libpenstock-mpi.so

ifneq ($(origin MPICC),file)
.PHONY: install-mpi
install: install-mpi
install-mpi: mpi
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/penstock/mpi/$(MPI_FAMILY)
	$(INSTALL) -m 755 $(BUILD)/mpi/$(MPI_FAMILY)/libpenstock-mpi.so $(DESTDIR)$(LIBDIR)/penstock/mpi/$(MPI_FAMILY)
endif

ifdef MPI_FOLDER
MPI_OBJECTS := $(MPI_SOURCES:mpi/%.c=$(MPI_FOLDER)/%.o)

$(MPI_FOLDER)/%.o: mpi/%.c $(MPI_HEADERS) mpi/mpi.mk
	@mkdir -p $(@D)
	$(MPICC) $(filter-out -Isrc,$(ALL_CFLAGS)) -Iposix -ftls-model=initial-exec -c $< -o $@

# libpenstock has a link.h, as the system has. No MPI is linked: the library comes into programs that have none.
$(MPI_FOLDER)/libpenstock-mpi.so: $(MPI_OBJECTS) mpi/mpi.map
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(notdir $@) -Wl,--version-script=mpi/mpi.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-z,nodelete,-z,relro -o $@ $(MPI_OBJECTS) -ldl
endif
