package arc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// Settings say where a fleet is, as flags and variables have it. Without any it
// is in Azure's public cloud.
type Settings struct {
	// Cloud is the name of one of Azure's clouds, or the https URL of another
	// Resource Manager: KALYPSO_ARM_CLOUD, or else AZURE_CLOUD_NAME, which the
	// Azure CLI has, too; the public one when it is "".
	Cloud string
	// Endpoint and Token are an emulator's: KALYPSO_ARM_ENDPOINT and
	// KALYPSO_ARM_TOKEN. They go together; neither has to do with Azure.
	Endpoint string
	Token    string
	// Subscription is the client's own, and with commas between further ones that
	// are only observed: KALYPSO_ARM_SUBSCRIPTION,
	// or else AZURE_SUBSCRIPTION_ID, or else what the Azure CLI has as default.
	Subscription string
	// Tenant is that of the subscription, of an account with several:
	// AZURE_TENANT_ID.
	Tenant string
	// Audience is whom tokens for another Resource Manager are made out to:
	// KALYPSO_ARM_AUDIENCE.
	Audience string
	// ConfigDir is the folder of the Azure CLI: AZURE_CONFIG_DIR.
	ConfigDir string

	// Report gets every wait that a user would notice; it must not block.
	Report func(Wait)
	// Transport replaces the network, in tests.
	Transport policy.Transporter
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

// ErrNoSubscription is a usage.Error about Settings without a subscription.
var ErrNoSubscription = usage.New("the clusters of which Azure subscription? Set AZURE_SUBSCRIPTION_ID to its ID, or give --subscription")

// Connect makes the client. It sends no request yet.
func (s Settings) Connect() (*Client, error) {
	where, err := s.where()
	if err != nil {
		return nil, err
	}
	subscriptions := subscriptionsIn(s.Subscription)
	var credential azcore.TokenCredential = fixedToken(s.Token)
	if s.Token == "" {
		if where.loopback() {
			return nil, usage.New("no token for the Resource Manager at " + where.Name + ": set KALYPSO_ARM_TOKEN")
		}
		if subscriptions, err = s.complete(where, subscriptions); err != nil {
			return nil, err
		}
		if credential, err = defaultCredential(where, s.Tenant, s.Transport); err != nil {
			return nil, err
		}
	}
	if len(subscriptions) == 0 {
		return nil, ErrNoSubscription
	}
	return newClient(credential, where, subscriptions, s.Report, s.Transport)
}

// where is the cloud. A token without an endpoint is refused: whose it is, is
// not known, so that it could be one that Azure must not see.
func (s Settings) where() (Cloud, error) {
	switch {
	case s.Endpoint == "" && s.Token != "":
		return Cloud{}, usage.New("KALYPSO_ARM_TOKEN belongs to KALYPSO_ARM_ENDPOINT, which is not set, and is never sent to Azure: leave it out.\n" +
			"Azure's own credentials are used then: those of azure/login or `az login`, of a managed or workload identity, or of AZURE_CLIENT_ID and its like")
	case s.Endpoint != "":
		return endpointCloud(s.Endpoint, s.Audience)
	case strings.Contains(s.Cloud, "://"):
		return endpointCloud(s.Cloud, s.Audience)
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

// subscriptionsIn are those that a text names, each once: IDs have no case.
func subscriptionsIn(text string) []string {
	var all []string
	for _, s := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		if !slices.ContainsFunc(all, func(known string) bool { return strings.EqualFold(known, s) }) {
			all = append(all, s)
		}
	}
	return all
}

// profile is an entry of the list of subscriptions that the Azure CLI keeps
// beside its login. The list holds no secrets.
type profile struct {
	ID      string `json:"id"`
	Tenant  string `json:"tenantId"`
	Cloud   string `json:"environmentName"`
	Default bool   `json:"isDefault"`
}

// cliSubscription is the Azure CLI's entry of a subscription, or with "" of
// its default one in a cloud. It is empty when the CLI knows none.
func cliSubscription(dir, cloud, id string) (profile, error) {
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return profile{}, nil // a machine without a home has no Azure CLI
		}
		dir = filepath.Join(home, ".azure")
	}
	file := filepath.Join(dir, "azureProfile.json")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return profile{}, nil
	}
	if err != nil {
		return profile{}, fmt.Errorf("default subscription of the Azure CLI: %w", err)
	}
	var known struct {
		Subscriptions []profile `json:"subscriptions"`
	}
	// the CLI writes a byte order mark
	if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), &known); err != nil {
		return profile{}, usage.Errorf("default subscription of the Azure CLI: %s: %v: set AZURE_SUBSCRIPTION_ID, or log in again with `az login`", file, err)
	}
	for _, p := range known.Subscriptions {
		if strings.EqualFold(p.Cloud, cloud) && (id == "" && p.Default || id != "" && strings.EqualFold(p.ID, id)) {
			return p, nil
		}
	}
	return profile{}, nil
}
