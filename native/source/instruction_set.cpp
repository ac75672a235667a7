// Compiled once for each instruction set, with its flags and with INSTRUCTION_SET as its name.
#include "instruction_set.h"

#include "cos_sin_rows.h"
#include "rotate_rows.h"
#include "scaled_sum.h"

#define QUOTED(name) #name
#define NAME(name) QUOTED(name)

namespace posenc {

const InstructionSet INSTRUCTION_SET = {NAME(INSTRUCTION_SET), rotate_heads, cos_sin_rows, step_tiles, scaled_sum};

}  // namespace posenc
