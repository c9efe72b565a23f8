/* What ends an instruction in another way than by computing, in the loop of every kind of core: no code yet, another page, a trap, a
 * hook. Labels of the function that includes it; it goes on behind this where a hook is over. TRAP_CYCLES is what a trap takes. */
L_NEXT_PAGE:
    ip = code_at(s, c->group, ip->pc);
    goto *table[ip->op];
L_DECODE:
    code_decode(s, c->group, ip);
    goto *table[ip->op];
L_ILLEGAL:
    cause = CAUSE_ILLEGAL;
    goto trap;
L_UNMAPPED:
    cause = CAUSE_FETCH;
trap:
    if (!c->trap_handler_set) {
        u32 reason = cause == CAUSE_ILLEGAL ? FAULT_ILLEGAL : cause == CAUSE_FETCH ? FAULT_FETCH : FAULT_TRAP;
        sim_fault(s, reason, c, ip->pc, t, ip->pc, 0, 0);
        s->fault.value = cause;
        goto stopped;
    }
    c->mepc = ip->pc;
    c->mcause = cause;
    c->mtval = 0;
    t += TRAP_CYCLES;
    ip = code_at(s, c->group, c->mtvec & ~3u);
    goto jumped;

L_hook:
    if ((s->breakpoints || s->is_stepping) && sim_hits_breakpoint(s, c, ip->pc)) {
        sim_fault(s, FAULT_BREAKPOINT, c, ip->pc, t, 0, 0, 0);
        goto stopped;
    }
    if (s->observer.watching) observe(s, c, ip->pc, t);
