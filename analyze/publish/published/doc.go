// Package published has tests for the reports, pages and records in test-results.
package published
