package up

import (
	"context"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
)

// What --share may be besides an address.
const (
	shareOn  = "on" // at the address by which the machine reaches others
	shareOff = "off"
)

func addShare(c *cobra.Command, share *string) {
	c.Flags().StringVar(share, "share", "", "show the hub to others on the network: on, off, or the `ADDRESS` to share at, such as 192.168.1.5 or 192.168.1.5:8443")
	c.Flags().Lookup("share").NoOptDefVal = shareOn
	cmdutil.CompleteFlag(c, "share", cmdutil.Known(shareOn, shareOff))
}

// askShare finds the address that --share asks for, and asks whether it is meant, before
// anything is brought up; "" where nothing new is to be shared.
func (o *Options) askShare(ctx context.Context, home sandbox.Home) (address string, err error) {
	if o.Share == "" || o.Share == shareOff {
		return "", nil
	}
	if known, err := home.Share(); err != nil || known != nil && home.Locked() && o.names(known) {
		return "", err
	}
	named := o.Share
	if named == shareOn {
		named = ""
	}
	if address, err = sandbox.ShareAddress(named); err != nil {
		return "", err
	}
	loss := fmt.Sprintf("The hub will be shared at https://%s: everybody who reaches that address and has the link sees all that the hub shows but the sandbox itself, until `kalypso up --share=off` or `kalypso down`.", address)
	if warning := sandbox.ShareWarning(address); warning != "" {
		loss += "\n" + warning
	}
	return address, o.Confirm(ctx, o.Yes, loss)
}

// share does what --share says, with a sandbox that is up.
func (o *Options) share(ctx context.Context, home sandbox.Home, address string) error {
	if o.Share == shareOff {
		was, err := sandbox.EndShare(ctx, home)
		if was && err == nil {
			o.Messagef("\nThe hub is not shared any more; its link is worth nothing now.")
		}
		return err
	}
	share, err := home.Share()
	if err == nil && address != "" {
		share, err = sandbox.ShareHub(ctx, home, address)
	}
	if err == nil && share != nil {
		o.showShare(share)
	}
	return err
}

// names says whether --share asks for the share that there is.
func (o *Options) names(known *sandbox.Share) bool {
	host, _, _ := net.SplitHostPort(known.Address)
	return o.Share == shareOn || o.Share == host || o.Share == known.Address
}

// showShare prints the link, which is what somebody may want to hand on.
func (o *Options) showShare(s *sandbox.Share) {
	o.Messagef("\nThe hub is shared. The link lets in everybody who has it, until `kalypso up --share=off`:\n")
	fmt.Fprintln(o.Out, s.Link())
	o.Messagef("\nBrowsers do not know its certificate and warn; its SHA-256 fingerprint is\n%s", s.Fingerprint)
}
