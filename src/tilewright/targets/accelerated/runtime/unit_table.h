/* No accelerators have been declared. */
#ifndef TW_UNIT_TABLE_H
#define TW_UNIT_TABLE_H

#define TW_UNITS 0

#endif
