// Package results is the result folder: its manifest, its canonical records and
// the classic CSV files derived from them. Control writes a folder, analyze
// reads it, and nothing else passes between them.
package results
