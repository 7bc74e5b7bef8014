package arc

import (
	"errors"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Settings say where a fleet is, as flags and variables have it.
type Settings struct {
	// Cloud is the name of one of Azure's clouds, or the https URL of another
	// Resource Manager: KALYPSO_ARM_CLOUD, or else AZURE_CLOUD_NAME, which the
	// Azure CLI has, too; the public one when it is "".
	Cloud string
	// Endpoint and Token are an emulation's: KALYPSO_ARM_ENDPOINT and
	// KALYPSO_ARM_TOKEN. They go together; neither has to do with Azure.
	Endpoint string
	Token    string
	// Subscription is one, or several with commas between: KALYPSO_ARM_SUBSCRIPTION,
	// or else AZURE_SUBSCRIPTION_ID, or else what the Azure CLI has as default.
	Subscription string
	// Tenant is that of the subscription, where the login has several:
	// AZURE_TENANT_ID.
	Tenant string
	// Audience is whom tokens for another Resource Manager are made out to:
	// KALYPSO_ARM_AUDIENCE.
	Audience string
	// ConfigDir is the folder of the Azure CLI: AZURE_CONFIG_DIR.
	ConfigDir string

	Waiting   func(Wait)         // see Options
	Transport policy.Transporter // see Options
}

// ReadSettings reads the variables. Credentials are for azidentity to read.
func ReadSettings(get func(string) string) Settings {
	first := func(names ...string) string {
		for _, name := range names {
			if value := strings.TrimSpace(get(name)); value != "" {
				return value
			}
		}
		return ""
	}
	return Settings{
		Cloud: first("KALYPSO_ARM_CLOUD", "AZURE_CLOUD_NAME"), Endpoint: first("KALYPSO_ARM_ENDPOINT"), Token: first("KALYPSO_ARM_TOKEN"),
		Subscription: first("KALYPSO_ARM_SUBSCRIPTION", "AZURE_SUBSCRIPTION_ID"), Tenant: first("AZURE_TENANT_ID"),
		Audience: first("KALYPSO_ARM_AUDIENCE"), ConfigDir: first("AZURE_CONFIG_DIR"),
	}
}

// SetupError is a mistake in flags or variables, or something that is missing
// there.
type SetupError struct{ Message string }

func (e *SetupError) Error() string { return e.Message }

// Connect makes the client. It asks nothing yet.
func (s Settings) Connect() (*Client, error) {
	where, err := s.where()
	if err != nil {
		return nil, err
	}
	subscriptions := split(s.Subscription)
	var credential azcore.TokenCredential = Token(s.Token)
	if s.Token == "" {
		if where, err = where.known(); err != nil {
			return nil, err
		}
		if where.loopback() {
			return nil, &SetupError{Message: "no token for the Resource Manager at " + where.Name + ": set KALYPSO_ARM_TOKEN"}
		}
		if subscriptions, err = s.complete(where, subscriptions); err != nil {
			return nil, err
		}
		if credential, err = DefaultCredential(where, s.Tenant, s.Transport); err != nil {
			return nil, err
		}
	}
	if len(subscriptions) == 0 {
		return nil, &SetupError{Message: "the clusters of which Azure subscription? Set AZURE_SUBSCRIPTION_ID to its ID, or give --subscription"}
	}
	return New(credential, subscriptions[0], &Options{Cloud: where, Also: subscriptions[1:], Waiting: s.Waiting, Transport: s.Transport})
}

// where is the cloud. A token without an endpoint is refused: whose it is, is
// not known, so that it could be one that Azure must not see.
func (s Settings) where() (Cloud, error) {
	switch {
	case s.Endpoint == "" && s.Token != "":
		return Cloud{}, &SetupError{Message: "KALYPSO_ARM_TOKEN belongs to KALYPSO_ARM_ENDPOINT, which is not set, and is never sent to Azure: leave it out.\n" +
			"Azure's own credentials are used then: those of azure/login or `az login`, of a managed or workload identity, or of AZURE_CLIENT_ID and its like"}
	case s.Endpoint != "":
		return Endpoint(s.Endpoint, s.Audience, ""), nil
	case strings.Contains(s.Cloud, "://"):
		return Endpoint(s.Cloud, s.Audience, ""), nil
	}
	return ParseCloud(s.Cloud)
}

// complete takes from the Azure CLI what is not given: the subscription, and
// the tenant that it is in.
func (s *Settings) complete(where Cloud, subscriptions []string) ([]string, error) {
	if s.Tenant != "" && len(subscriptions) > 0 {
		return subscriptions, nil
	}
	wanted := ""
	if len(subscriptions) > 0 {
		wanted = subscriptions[0]
	}
	found, err := cliSubscription(s.ConfigDir, where.CLI, wanted)
	if err != nil && wanted == "" {
		return nil, err
	}
	if wanted == "" && found.ID != "" {
		subscriptions = []string{found.ID}
	}
	if s.Tenant == "" {
		s.Tenant = found.Tenant
	}
	return subscriptions, nil
}

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\t' })
}

// IsSetup tells whether an error is a mistake in flags or variables.
func IsSetup(err error) bool { return errors.As(err, new(*SetupError)) }
