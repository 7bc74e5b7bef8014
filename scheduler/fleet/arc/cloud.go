package arc

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/kalypso-dev/kalypso/internal/usage"
)

// Cloud is one of Azure's clouds, or another endpoint with their API.
type Cloud struct {
	Name string
	// CLI is what the Azure CLI calls it, "" when it is not one of Azure's.
	CLI           string
	configuration cloud.Configuration
	endpoint      *url.URL // of its Resource Manager
}

// clouds are Azure's. Tools spell their names in many ways, which are all taken.
var clouds = []struct {
	name, cli     string
	configuration cloud.Configuration
	also          []string
}{
	{"AzurePublic", "AzureCloud", cloud.AzurePublic, []string{"AzurePublicCloud", "public", ""}},
	{"AzureGovernment", "AzureUSGovernment", cloud.AzureGovernment, []string{"AzureUSGovernmentCloud", "usgovernment"}},
	{"AzureChina", "AzureChinaCloud", cloud.AzureChina, []string{"china"}},
}

// ParseCloud finds one of Azure's clouds by its name, in any case; "" is the
// public one.
func ParseCloud(name string) (Cloud, error) {
	var names []string
	for _, c := range clouds {
		for _, known := range append([]string{c.name, c.cli}, c.also...) {
			if strings.EqualFold(known, name) {
				return newCloud(c.name, c.cli, c.configuration)
			}
		}
		names = append(names, c.name)
	}
	return Cloud{}, usage.Errorf("there is no cloud %q: choose one of %s, or give the https:// URL of a Resource Manager", name, strings.Join(names, ", "))
}

// endpointCloud is a Resource Manager that is none of Azure's clouds'. Audience
// is whom tokens for it are made out to, the endpoint itself when it is "". The
// login endpoint is that of AZURE_AUTHORITY_HOST, or else of the public cloud.
func endpointCloud(endpoint, audience string) (Cloud, error) {
	endpoint = strings.TrimSuffix(endpoint, "/")
	return newCloud(endpoint, "", cloud.Configuration{
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: endpoint, Audience: cmp.Or(audience, endpoint)}},
	})
}

func newCloud(name, cli string, configuration cloud.Configuration) (Cloud, error) {
	endpoint := configuration.Services[cloud.ResourceManager].Endpoint
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Cloud{}, usage.Errorf("%q is no URL of a Resource Manager: write it like https://management.example.com", endpoint)
	}
	return Cloud{name, cli, configuration, u}, nil
}

// loopback is whether the endpoint is plain http on this machine, as the
// emulator is.
func (c Cloud) loopback() bool {
	host := c.endpoint.Hostname()
	ip := net.ParseIP(host)
	return c.endpoint.Scheme == "http" && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// azure is whether the endpoint belongs to Azure, by whatever name it was
// given.
func (c Cloud) azure() bool {
	return slices.ContainsFunc(azureHosts(), func(host string) bool {
		return strings.HasSuffix("."+strings.ToLower(c.endpoint.Hostname()), "."+host)
	})
}

// azureHosts are those of Azure's Resource Managers, and of the audiences of
// their tokens.
func azureHosts() []string {
	var all []string
	for _, c := range clouds {
		s := c.configuration.Services[cloud.ResourceManager]
		all = append(all, hostOf(s.Endpoint), hostOf(s.Audience))
	}
	return all
}

func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// mayHave refuses a credential that must not be sent here.
func (c Cloud) mayHave(credential azcore.TokenCredential) error {
	_, fixed := credential.(fixedToken)
	audience := c.configuration.Services[cloud.ResourceManager].Audience
	switch {
	case fixed && c.azure():
		return usage.New("a fixed token is for an emulator, and is not sent to " + c.endpoint.Host + ": leave it out, and Azure's own credentials are used")
	case fixed && c.endpoint.Scheme == "http" && !c.loopback():
		return usage.New("a token goes over TLS or to this machine only, and " + c.Name + " is neither: use its https:// URL")
	case !fixed && c.endpoint.Scheme != "https":
		return usage.New("a credential of Azure is not sent to " + c.Name + ", which is plain http: an emulator there needs a token of its own")
	case !fixed && !c.azure() && slices.Contains(azureHosts(), hostOf(audience)):
		// its receiver could use such a token at Azure itself
		return usage.New("a token for Azure itself is not sent to " + c.Name + ": its audience is " + audience)
	}
	return nil
}
