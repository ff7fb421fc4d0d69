package agentlink

import "google.golang.org/grpc/credentials"

// Credentials returns the credentials an agent's server uses.
func (s Server) Credentials() credentials.TransportCredentials { return s.credentials() }
