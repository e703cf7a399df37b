// `oarlock`: looks at an installation from the outside. Exit code 0: all is well; 1: it isn't; 2: wrong usage.
#include <fmt/format.h>

#include <oarlock/base/status.h>

#include "api/cli/command.h"

int main(int argc, char** argv) {
  CLI::App app{"Oarlock: what is installed, what it can do, and whether it does so correctly.", "oarlock"};
  app.set_version_flag("--version", "oarlock " OARLOCK_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  int exit = 0;
  oarlock::cli::add_doctor(app, exit);
  oarlock::cli::add_devices(app, exit);
  oarlock::cli::add_probe(app, exit);
  oarlock::cli::add_ops(app, exit);
  oarlock::cli::add_explain(app, exit);
  oarlock::cli::add_settings(app, exit);
  oarlock::cli::add_replay(app, exit);
  oarlock::cli::add_new_plugin(app, exit);
  oarlock::cli::add_cts(app, exit);
  oarlock::cli::add_advise(app, exit);
  oarlock::cli::add_bisect(app, exit);
  oarlock::cli::add_inspect(app, exit);
  oarlock::cli::add_run(app, exit);
  oarlock::cli::add_bench(app, exit);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;  // help and version are no errors
  } catch (const std::exception& e) {
    fmt::print(stderr, "oarlock: {}\n", e.what());
    return 1;
  }
  return exit;
}
