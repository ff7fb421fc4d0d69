package database

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// TLS names the PEM files of a client or member. A client without a CA trusts the system CAs;
// without a certificate it presents nothing. The certificate and the key may be in one file, named
// twice.
type TLS struct {
	CA   string `json:"ca,omitempty" yaml:"ca,omitempty"`
	Cert string `json:"cert,omitempty" yaml:"cert,omitempty"`
	Key  string `json:"key,omitempty" yaml:"key,omitempty"`
}

// Config reads the files for a client, nil for plaintext. It reports everything
// that is wrong with them, joined.
func (t *TLS) Config() (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var errs []error
	if t.CA != "" {
		config.RootCAs = x509.NewCertPool()
		switch pem, err := os.ReadFile(t.CA); {
		case err != nil:
			errs = append(errs, fmt.Errorf("read CA: %w", err))
		case !config.RootCAs.AppendCertsFromPEM(pem):
			errs = append(errs, fmt.Errorf("read CA: no certificate in %q", t.CA))
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			errs = append(errs, fmt.Errorf("read certificate %q with key %q: %w", t.Cert, t.Key, err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return config, nil
}
