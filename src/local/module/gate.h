/* Who may connect: only the endpoint, which alone knows the secrets of this run. See gate.c. */
#ifndef DSQL_LOCAL_MODULE_GATE_H
#define DSQL_LOCAL_MODULE_GATE_H

/* Reads the secrets and installs the hook; called once, in the postmaster. */
void dsql_gate_init(void);

#endif
