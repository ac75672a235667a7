// Which instruction sets the processor has, asked once.
#pragma once
#include <string>
#include <vector>

#include "instruction_set.h"

namespace posenc {

// The best first.
const std::vector<const InstructionSet*>& instruction_sets();

// The one of this name, for tests; the best where the name is empty.
const InstructionSet& instruction_set(const std::string& name = {});

}  // namespace posenc
