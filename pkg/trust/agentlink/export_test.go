package agentlink

import "google.golang.org/grpc/credentials"

// Credentials returns the credentials that the server of an agent uses.
func (s Server) Credentials() credentials.TransportCredentials { return s.credentials() }
