// SPDX-License-Identifier: Apache-2.0
// The library from C++: each line of the input is a reference. Every four lines give one text.
// Build:
//   c++ -std=c++11 -I. examples/generate.cpp build/libcuttle.a -lm -pthread -o generate
// Usage:  generate MODEL.gguf KIND < LINES
#include "engine/cuttle.h"

#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

const std::uint32_t BATCH = 4;

struct FreeModel {
	void operator()(cuttle_model *model) const { cuttle_model_free(&model); }
};
struct FreePlan {
	void operator()(cuttle_plan *plan) const { cuttle_plan_free(&plan); }
};

void check(cuttle_status status, const cuttle_error &error) {
	if (status != CUTTLE_OK) throw std::runtime_error(error.message);
}

/* No exception may leave a callback: the library is C. */
extern "C" void give_line(void *user, std::size_t index, const char **text, std::size_t *size) {
	const std::string &line = (*static_cast<const std::vector<std::string> *>(user))[index];
	*text = line.data();
	*size = line.size();
}

extern "C" int print_text(void *, const cuttle_text *text) {
	std::cout.write(text->text, static_cast<std::streamsize>(text->size))
	    << "\n---" << std::endl;
	return std::cout ? 0 : 1; // nonzero stops the job
}

void generate(const char *path, const char *kind) {
	cuttle_error error;
	cuttle_model *opened = nullptr;
	check(cuttle_model_open(path, nullptr, &opened, &error), error);
	const std::unique_ptr<cuttle_model, FreeModel> model(opened);

	// The guarantee is fixed here, before a line is read.
	cuttle_plan_params params;
	cuttle_plan_params_default(&params);
	params.epsilon = 10;
	params.batch = BATCH;
	params.tokens = 24;
	params.kind = kind;
	cuttle_plan *made = nullptr;
	check(cuttle_plan_make(model.get(), &params, &made, &error), error);
	const std::unique_ptr<cuttle_plan, FreePlan> plan(made);

	std::vector<std::string> lines;
	for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
	cuttle_job job;
	cuttle_job_default(&job);
	job.texts = lines.size() / BATCH;
	job.user = &lines;
	job.reference = give_line;
	job.text = print_text;
	check(cuttle_job_run(plan.get(), &job, &error), error);
}

} // namespace

int main(int argc, char **argv) {
	if (argc != 3) {
		std::cerr << "usage: generate MODEL.gguf KIND < LINES\n";
		return CUTTLE_USAGE;
	}
	try {
		generate(argv[1], argv[2]);
	} catch (const std::exception &problem) {
		std::cerr << "generate: " << problem.what() << '\n';
		return 1;
	}
	return 0;
}
