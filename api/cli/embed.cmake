# Writes OUT, a C++ file with the text of every file of FILES by its name.
set(text "#include \"api/cli/template.h\"\nnamespace oarlock::cli {\nconst std::vector<Template> kTemplates = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} body)
  string(APPEND text "    {\"${name}\", R\"__oar__(${body})__oar__\"},\n")
endforeach()
string(APPEND text "};\n}  // namespace oarlock::cli\n")
file(WRITE ${OUT} "${text}")
