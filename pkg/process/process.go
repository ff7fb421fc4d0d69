// Package process runs child processes: as data before they start, as handles
// after. A child that was started is always reaped, and dies with this process.
package process
