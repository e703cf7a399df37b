// What `oarlock new-plugin` writes from: the files of templates/ and the null plugin, carried by the program.
#pragma once
#include <string>
#include <vector>

namespace oarlock::cli {

struct Template {
  std::string name, text;
};
extern const std::vector<Template> kTemplates;

}  // namespace oarlock::cli
