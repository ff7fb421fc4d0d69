// Package yamlfile reads YAML files that people write. A [Reader] reports every
// problem of a file at once, each with its line and column, and names the nearest
// known word where one is misspelled.
//
// A caller describes a mapping as [Keys]: for each key, the reader of its value. A
// [Parser] reads one value: [Text], [Truth], [Whole], [Duration], [Size] and others
// are parsers, and so is any function of that form. [Into] stores a value together
// with its place, so that a later check can report a problem where it was caused.
// [ReadOptions] decodes a mapping into a struct by its tags.
//
// A [Section] declares the keys of a mapping once, as data. Reading it, defaults,
// laying one mapping over another, showing it, its JSON Schema and the table of its
// documentation follow.
package yamlfile
