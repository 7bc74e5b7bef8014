package incluster

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
)

// nobody runs the images' programs, where upstream's images say so, too.
const nobody = "65534:65534"

// linuxProgram returns which machines a program runs on. It must run on Linux
// and need no libraries, as all do that a kalypso for Linux has packed.
func linuxProgram(path string) (elf.Machine, error) {
	f, err := elf.Open(path)
	var format *elf.FormatError
	if errors.As(err, &format) {
		return 0, fmt.Errorf("%s does not run on Linux, and pods do: use a kalypso that was built for Linux", path)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return 0, fmt.Errorf("%s needs libraries, which its image does not have: build it with CGO_ENABLED=0", path)
		}
	}
	return f.Machine, nil
}

// certificates are where the systems keep the authorities that they trust.
var certificates = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// certificateFile is where a program in an image finds them.
const certificateFile = "/etc/ssl/certs/ca-certificates.crt"

// trustLayer has the authorities that this machine trusts, so that a source in
// a pod can be one that is reached by https. It is empty when there are none.
func trustLayer() *layer {
	for _, file := range append([]string{os.Getenv("SSL_CERT_FILE")}, certificates...) {
		if info, err := os.Stat(file); file != "" && err == nil && info.Mode().IsRegular() {
			return newLayer(entry{path: certificateFile[1:], from: file})
		}
	}
	return newLayer()
}
