// Package table makes the tables in a report: rows with their definitions, footnotes and notes, and
// the summary of each run.
package table
