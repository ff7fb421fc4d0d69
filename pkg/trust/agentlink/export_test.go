package agentlink

import "google.golang.org/grpc/credentials"

// Credentials returns the credentials that an agent server uses.
func (s Server) Credentials() credentials.TransportCredentials { return s.credentials() }
