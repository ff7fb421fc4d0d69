// Package requests maps the number of a request to its operation, its key and its value. They
// depend only on the seed and the number, not on the client that sends the request or on the time.
//
// It also checks the values that requests read, and knows which created keys are missing because
// their write failed or has not ended.
package requests
