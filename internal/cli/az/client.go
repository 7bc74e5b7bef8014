package az

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/kalypso-dev/kalypso/internal/cli/cmdutil"
	"github.com/kalypso-dev/kalypso/sandbox"
	"github.com/kalypso-dev/kalypso/scheduler/fleet/arc"
	"github.com/kalypso-dev/kalypso/scheduler/source"
)

// cloudVariable is the variable that makes the commands be about Azure. That
// of the Azure CLI is none: it may be set for the real one while a tutorial
// runs in the sandbox.
const cloudVariable = "KALYPSO_ARM_CLOUD"

// connect makes the client; it asks nothing yet.
func (z *call) connect() error {
	if cloud := cmp.Or(z.global.cloud, z.env(cloudVariable)); cloud != "" {
		return z.connectAzure(cloud)
	}
	home, err := z.Home()
	if err != nil {
		return err
	}
	url, token, subscription, tenant, err := sandbox.ArmEndpoint(home)
	if err != nil {
		return err
	}
	z.tenant = tenant
	z.client, err = arc.Settings{Endpoint: url, Token: token, Subscription: cmp.Or(z.global.subscription, subscription)}.Connect()
	return err
}

func (z *call) connectAzure(cloud string) error {
	s := arc.ReadSettings(z.env)
	// these are the sandbox's, whatever set them
	s.Endpoint, s.Token = "", ""
	s.Cloud, s.Subscription = cloud, cmp.Or(z.global.subscription, s.Subscription)
	s.Report, s.Transport = z.ReportAzureWait, z.transport
	client, err := s.Connect()
	z.client, z.real = client, true
	return err
}

// failure says what went wrong in Azure's words, and what to do about it; and in
// ours when nobody answers.
func (z *call) failure(err error) error {
	var call *net.OpError
	var late *arc.OperationError
	if !z.real && errors.As(err, &call) && call.Op == "dial" {
		return fmt.Errorf("the sandbox's emulated Azure does not answer (%w): bring the sandbox up with `kalypso up`", call.Err)
	}
	known := &source.Error{Message: arc.Message(err), Err: err}
	if z.real {
		known.Hint = arc.Hint(err)
	}
	switch {
	case errors.As(err, &late):
		known.Err = &sandbox.TimeoutError{What: late.What, After: late.After, Reason: late.Last}
	case z.real && arc.IsDenied(err):
		known.Err = source.ErrCredentials
	case arc.IsNotFound(err):
		known.Err = cmdutil.Classify(err, cmdutil.ErrNotFound)
	}
	return known
}
