package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/kalypso-dev/kalypso/internal/retry"
	"github.com/kalypso-dev/kalypso/internal/usage"
	"github.com/kalypso-dev/kalypso/sandbox/state"
)

// Share is a second address of the hub, on a network, for those who have its link.
type Share = state.Share

const (
	// shareLimit is for the hub to begin to serve its share, or to end it.
	shareLimit = time.Minute
	shareAsk   = 2 * time.Second
	// certificateLeft is how long a certificate must still be valid to be used again: for
	// longer than anybody shares anything.
	certificateLeft = 30 * 24 * time.Hour
)

// ShareAddress is the address that the hub is shared at when a user names this one, "" for
// that by which the machine reaches others. It may have a port. The error is a
// *usage.Error for what is no address of this machine alone.
func ShareAddress(named string) (string, error) {
	host, port := named, "0"
	if h, p, err := net.SplitHostPort(named); err == nil {
		host, port = h, p
	}
	if named == "" {
		found, err := outwardAddress()
		if err != nil {
			return "", err
		}
		host = found
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return "", usage.Errorf("%s is no address: name one of this machine, as in --share=192.168.1.5 or --share=192.168.1.5:8443", named)
	case ip.IsUnspecified() || ip.IsMulticast():
		return "", usage.Errorf("%s is not one address: name the one of the network that is to see the hub, as in --share=192.168.1.5", host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), port))
	if err != nil {
		return "", usage.Errorf("this machine cannot listen on %s: %v", named, err)
	}
	defer l.Close() // what is free is taken by the hub
	return l.Addr().String(), nil
}

// outwardAddress is the address that packets to elsewhere would leave from. None is sent.
func outwardAddress() (string, error) {
	c, err := net.Dial("udp", "192.0.2.1:9") // of nobody, by RFC 5737
	if err != nil {
		return "", usage.Errorf("this machine has no way to a network (%v): name the address to share at, as in --share=192.168.1.5", err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String(), nil
}

// ShareHub gives the running sandbox's hub a second address, and returns when it answers
// there. A share that there is already is replaced: its link ends.
func ShareHub(ctx context.Context, h Home, address string) (*Share, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	certificate, err := shareCertificate(h, net.ParseIP(host))
	if err != nil {
		return nil, fmt.Errorf("certificate of the share: %w", err)
	}
	share := &Share{Address: address, Token: strings.ToLower(rand.Text() + rand.Text()), Fingerprint: fingerprint(certificate)}
	if err := h.SaveShare(share); err != nil {
		return nil, err
	}
	if _, err := Restart(ctx, h, HubPage, shareLimit, nil); err != nil {
		_, ended := h.EndShare()
		return nil, errors.Join(err, ended)
	}
	err = retry.Until(ctx, "the hub at "+address, shareLimit, func(ctx context.Context) error { return answersAt(ctx, address, certificate) })
	if err != nil {
		_, ended := EndShare(ctx, h)
		return nil, errors.Join(fmt.Errorf("%w; `kalypso logs hub` has the reason", err), ended)
	}
	return share, nil
}

// EndShare ends the share of a sandbox's hub, if there is one, and says whether there
// was.
func EndShare(ctx context.Context, h Home) (was bool, err error) {
	was, err = h.EndShare()
	if !was || err != nil {
		return was, err
	}
	if _, err := Restart(ctx, h, HubPage, shareLimit, nil); err != nil && !errors.Is(err, ErrDown) {
		return true, err
	}
	return true, nil
}

// shareCertificate is a certificate of its own for an address: that of the last share where it is
// for the same one, so that who has trusted it is not asked again.
func shareCertificate(h Home, ip net.IP) (*x509.Certificate, error) {
	file, keyFile := h.ShareCertificate()
	if pair, err := tls.LoadX509KeyPair(file, keyFile); err == nil {
		if known := pair.Leaf; known.VerifyHostname(ip.String()) == nil && time.Until(known.NotAfter) > certificateLeft {
			return known, nil
		}
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(ip.String(), []net.IP{ip}, nil)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(state.WriteFile(file, chain), state.WriteFile(keyFile, key)); err != nil {
		return nil, err
	}
	all, err := cert.ParseCertsPEM(chain)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// fingerprint is that which browsers show: SHA-256, in pairs of digits.
func fingerprint(c *x509.Certificate) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(c.Raw)), " ", ":")
}

// answersAt is nil when the hub answers at an address with the certificate.
func answersAt(ctx context.Context, address string, want *x509.Certificate) error {
	ctx, cancel := context.WithTimeout(ctx, shareAsk)
	defer cancel()
	pinned := &tls.Config{
		InsecureSkipVerify: true, // exactly one certificate is accepted, below
		VerifyConnection: func(s tls.ConnectionState) error {
			if !s.PeerCertificates[0].Equal(want) {
				return errors.New("somebody else answers there, with another certificate")
			}
			return nil
		},
	}
	transport := &http.Transport{TLSClientConfig: pinned, DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

// ShareWarning says what is to be known of an address that the hub is to be shared at, ""
// for nothing.
func ShareWarning(address string) (warning string) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || at.Addr().IsPrivate() || at.Addr().IsLoopback() || at.Addr().IsLinkLocalUnicast() {
		return ""
	}
	return at.Addr().String() + " is no private address: more than your network may reach it."
}
