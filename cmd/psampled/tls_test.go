package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptools/internal/ptest"
)

// authority signs certificates of a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	c := a.issue(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.cert = c.Leaf
	a.key = c.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// issue makes a key and a certificate: the authority's own while it has none.
func (a *authority) issue(c *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotAfter.IsZero() {
		c.NotAfter = time.Now().Add(time.Hour)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func (a *authority) client(expires time.Time) tls.Certificate {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "scraper"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, NotAfter: expires,
	})
}

func (a *authority) server() tls.Certificate {
	return a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "psampled"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	})
}

// write writes a certificate and its key, and returns the files.
func write(t *testing.T, dir, name string, c tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: c.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// tlsClient trusts an authority, and presents a certificate if it has one.
func tlsClient(t *testing.T, trusted *authority, own ...tls.Certificate) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(trusted.cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: own}}
	if len(own) > 0 { // also one that the server does not ask for
		transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own[0], nil }
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

// TestClientCertificates: with --tls-client-ca only clients with a certificate of that authority are served, even on
// loopback and for /healthz. Clients without a certificate, with one of another authority, with an expired one, or
// without TLS are refused.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	g := ptest.Start(t, ptest.BuildC(t, "mix.c"), "-n", "100000", "-u", "800")
	dir := t.TempDir()
	servers, scrapers, strangers := newAuthority(t, "servers"), newAuthority(t, "scrapers"), newAuthority(t, "strangers")
	cert, key := write(t, dir, "server", servers.server())
	ca, _ := write(t, dir, "scrapers", tls.Certificate{Certificate: [][]byte{scrapers.cert.Raw}, PrivateKey: scrapers.key})
	r := start(t, "-p", fmt.Sprint(g.PID), "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca, "-l", "127.0.0.1:0")
	if !strings.HasPrefix(r.url, "https://") {
		t.Fatal(r.url)
	}
	later := time.Now().Add(time.Hour)
	known := tlsClient(t, servers, scrapers.client(later))
	for _, path := range []string{"/healthz", "/debug/pprof/profile?seconds=0.2"} {
		a, err := known.Get(r.url + path)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	for name, client := range map[string]*http.Client{
		"no certificate":       tlsClient(t, servers),
		"of another authority": tlsClient(t, servers, strangers.client(later)),
		"of the server's":      tlsClient(t, servers, servers.client(later)),
		"expired":              tlsClient(t, servers, scrapers.client(time.Now().Add(-time.Minute))),
		"for servers only":     tlsClient(t, servers, scrapers.server()),
	} {
		a, err := client.Get(r.url + "/healthz")
		if err == nil {
			a.Body.Close()
			t.Errorf("%s: %s", name, a.Status)
		} else if !strings.Contains(err.Error(), "tls:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tlsClient(t, strangers, scrapers.client(later)).Get(r.url + "/healthz"); err == nil {
		t.Error("a client takes the certificate of an authority that it does not trust")
	}
	// SIGHUP takes over another authority.
	ca2, _ := write(t, dir, "strangers", tls.Certificate{Certificate: [][]byte{strangers.cert.Raw}, PrivateKey: strangers.key})
	if err := os.Rename(ca2, ca); err != nil {
		t.Fatal(err)
	}
	r.cmd.Process.Signal(syscall.SIGHUP)
	r.await(`(reloaded): 1 process`)
	if a, err := tlsClient(t, servers, strangers.client(later)).Get(r.url + "/healthz"); err != nil {
		t.Error(err)
	} else if a.Body.Close(); a.StatusCode != http.StatusOK {
		t.Errorf("after SIGHUP: %s", a.Status)
	}
	if a, err := tlsClient(t, servers, scrapers.client(later)).Get(r.url + "/healthz"); err == nil {
		a.Body.Close()
		t.Errorf("of an authority that was: %s", a.Status)
	}
	a, err := http.Get(strings.Replace(r.url, "https:", "http:", 1) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", a.Status)
	}
}
