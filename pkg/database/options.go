package database

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// EncodeOptions returns a driver's options as YAML, every default filled in.
func EncodeOptions(options any) ([]byte, error) {
	data, err := yaml.Dump(options)
	if err != nil {
		return nil, fmt.Errorf("encode options: %w", err)
	}
	return data, nil
}

// DecodeOptions decodes YAML over the defaults that options points to. Unknown
// keys and repeated keys are errors; empty data leaves the defaults.
func DecodeOptions(data []byte, options any) error {
	if len(data) == 0 {
		return nil
	}
	if err := yaml.Load(data, options, yaml.WithKnownFields()); err != nil {
		return fmt.Errorf("decode options: %w", err)
	}
	return nil
}
