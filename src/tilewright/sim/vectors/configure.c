/* How many elements of which size: vsetvli, vsetivli, vsetvl; and the registers that say it. */
#include "vectors/elements.h"

enum { TYPE_BITS = 0xff };

/* Elements of a type that there is; 0 for others. */
static u32 most_of_type(u32 type) {
    const i32 group = (i32)((type & 7) << 29) >> 29;
    const u32 bytes = 1u << (type >> 3 & 7);
    if (type & ~(u32)TYPE_BITS || group == -4 || bytes > VECTOR_ELEMENT) return 0;
    return group < 0 && bytes > (u32)VECTOR_ELEMENT >> -group ? 0 : most_elements(group, bytes);
}

static u32 wanted_length(const vector_unit *u, u32 word, u32 length) {
    if (field(word, 31, 30) == 3) return field(word, 19, 15);
    if (field(word, 19, 15)) return length;
    return field(word, 11, 7) ? ~0u : u->vl;
}

u32 vector_configure(vector_unit *u, u32 word, u32 length, u32 type) {
    const u32 form = field(word, 31, 30), wanted = wanted_length(u, word, length);
    const u32 asked = form == 3 ? field(word, 29, 20) : form == 2 ? type : field(word, 30, 20), most = most_of_type(asked);
    u->vtype = most ? asked : VECTOR_ILLEGAL_TYPE;
    u->vl = wanted < most ? wanted : most;
    u->vstart = 0;
    return u->vl;
}

int vector_csr(u32 number) { return (number >= CSR_VSTART && number <= CSR_VXRM) || number == CSR_VCSR || (number >= CSR_VL && number <= CSR_VLENB); }

u32 vector_csr_read(const vector_unit *u, u32 number) {
    switch (number) {
    case CSR_VSTART: return u->vstart;
    case CSR_VXSAT: return u->vxsat;
    case CSR_VXRM: return u->vxrm;
    case CSR_VCSR: return u->vxrm << 1 | u->vxsat;
    case CSR_VL: return u->vl;
    case CSR_VTYPE: return u->vtype;
    default: return VECTOR_REGISTER;
    }
}

void vector_csr_write(vector_unit *u, u32 number, u32 value) {
    switch (number) {
    case CSR_VSTART: u->vstart = value & (8 * VECTOR_REGISTER - 1); break;
    case CSR_VXSAT: u->vxsat = value & 1; break;
    case CSR_VXRM: u->vxrm = value & 3; break;
    case CSR_VCSR: u->vxrm = value >> 1 & 3, u->vxsat = value & 1; break;
    default: break;
    }
}
