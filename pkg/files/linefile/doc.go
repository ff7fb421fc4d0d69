// Package linefile appends whole lines to files and reads them back. A process that is
// killed leaves whole lines and at most one incomplete line after them, which a writer
// that continues the file cuts off and a reader drops with [ErrTruncated]. Tables are
// CSV files whose columns are declared once and found by name.
package linefile
