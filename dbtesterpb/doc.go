// Package dbtesterpb is the wire between control and agents: agent.proto for members,
// generator.proto for parts of loads, and the code that is generated from them.
package dbtesterpb
