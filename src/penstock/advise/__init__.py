"""The operator's questions, answered from runs of the whole machine: `penstock.advise`."""
