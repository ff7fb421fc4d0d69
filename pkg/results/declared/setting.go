package declared

// Setting records a server setting, by the name and unit in its own release.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Default is the default in the release; "" without one.
	Default string `json:"default,omitempty"`
}

// String returns the setting with its default: "--snapshot-count=100000 (default 10000)".
func (s Setting) String() string {
	text := s.Name
	if s.Value != "" {
		text += "=" + s.Value
	}
	if s.Default != "" {
		text += " (default " + s.Default + ")"
	}
	return text
}
