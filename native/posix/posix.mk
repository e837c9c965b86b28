# libpenstock-posix.so, which is preloaded: included by the Makefile of this folder's parent.
POSIX_SOURCES := $(wildcard posix/*.c)
POSIX_OBJECTS := $(POSIX_SOURCES:posix/%.c=$(BUILD)/obj/posix/%.o)
POSIX_HEADERS := $(wildcard posix/*.h) $(HEADERS)
POSIX := $(BUILD)/libpenstock-posix.so

.PHONY: posix install-posix
all: $(POSIX)
posix: $(POSIX)

# A preloaded library may use the static model of thread-local storage, which needs no call.
$(BUILD)/obj/posix/%.o: posix/%.c $(POSIX_HEADERS) posix/posix.mk
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -U_FORTIFY_SOURCE -fno-builtin -ftls-model=initial-exec -c $< -o $@

# Hidden visibility keeps all of libpenstock inside; only what stands in for libc is visible.
$(POSIX): $(POSIX_OBJECTS) $(OBJECTS) posix/posix.map
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(notdir $@) -Wl,--version-script=posix/posix.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) -Wl,-z,nodelete,-z,relro -o $@ $(POSIX_OBJECTS) $(OBJECTS) -ldl

install: install-posix
install-posix: $(POSIX)
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)
	$(INSTALL) -m 755 $(POSIX) $(DESTDIR)$(LIBDIR)
