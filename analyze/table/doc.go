// Package table makes a report's tables: rows with their definitions, footnotes and notes, and the
// summary of each run.
package table
