// Package yamlfile reads YAML files written by people. A [Reader] reports all problems in a file at
// once, each with line and column, and suggests the nearest known word for a misspelled one.
//
// A caller describes a mapping as [Keys]: a reader for the value of each key. A [Parser] reads one
// value: [Text], [Truth], [Whole], [Duration], [Size] and others are parsers, as is any function
// with that signature. [Into] stores a value together with its place, so that a later check can
// report a problem where it was caused. [ReadOptions] decodes a mapping into a struct by its tags.
//
// A [Section] declares the keys of a mapping once, as data. Reading, defaults, overlaying one
// mapping on another, display, JSON Schema and the table in the documentation are derived from it.
package yamlfile
