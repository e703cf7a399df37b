# Writes OUT, a C++ file with the text of every file of FILES by its name.
set(text "#include \"program.h\"\nnamespace oarlock::opencl {\nconst SourceFile kSources[] = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} body)
  string(APPEND text "    {\"${name}\", R\"__cl__(${body})__cl__\"},\n")
endforeach()
string(APPEND text "};\nconst size_t kSourceCount = sizeof(kSources) / sizeof(kSources[0]);\n}  // namespace oarlock::opencl\n")
file(WRITE ${OUT} "${text}")
