// Package linefile appends whole lines to files and reads them back. A killed process leaves whole
// lines and at most one incomplete last line, which a resuming writer cuts off and a reader drops
// with [ErrTruncated]. Tables are CSV files whose columns are declared once and found by name.
package linefile
