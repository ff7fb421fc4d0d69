// Package table makes a report's tables: rows with their definitions, footnotes and notes, and each
// run's summary.
package table
