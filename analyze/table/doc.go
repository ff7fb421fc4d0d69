// Package table makes the tables of a report: rows with their definitions, footnotes and notes,
// and the summary of each run.
package table
