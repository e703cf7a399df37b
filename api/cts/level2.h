// The parts of level 2. Every test of an op gets the same: its schema, the options, a seed of its own.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/cts/op_call.h"
#include "api/cts/test.h"

namespace oarlock::cts {

// The ops that the options ask for.
std::vector<std::string> chosen_ops(const Options& options);
// Every (variable, dtype) of an op's type variables; one empty pair for an op without any.
std::vector<std::pair<std::string, DType>> type_choices(const Schema& schema);

void level2_forward(const Options& options, const std::string& op, std::vector<Test>& tests);
void level2_cases(const Options& options, const std::string& op, std::vector<Test>& tests);
void level2_gradient(const Options& options, const std::string& op, std::vector<Test>& tests);
void level2_errors(const Options& options, const std::string& op, std::vector<Test>& tests);

// An op that the plugin itself defines. l2_own.cc
void level2_own(const Options& options, const std::string& op, std::vector<Test>& tests);

// Runs one drawn call by every route that the target has and compares each with the oracle.
struct Ran {
  int compared = 0;
  bool by_kernel = false;  // the plugin's kernel took it
  std::string refusal;     // why the plugin's kernel did not take it, if so
};
Ran check_call(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random);
// True if this target has something of its own to say about the op; otherwise out_why is the reason to skip.
bool concerns(const Target& target, const Schema& schema, std::string& out_why);
// The gradient of a drawn call in `dtype` on the target against that in f64 on the host; on the host in f64, against finite
// differences. False: nothing to compare.
bool check_gradient(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random,
                    DType dtype = DType::none);
// Against finite differences on the target itself, in f64 or, less sharply, in f32.
bool check_by_differences(Check& check, const Schema& schema, const Draw& draw, const Target& target, Random& random,
                          bool in_f64);

}  // namespace oarlock::cts
