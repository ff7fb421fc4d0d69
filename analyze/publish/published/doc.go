// Package published has the tests of the reports, pages and records in test-results.
package published
