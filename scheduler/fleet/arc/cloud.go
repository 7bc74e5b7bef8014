package arc

import (
	"fmt"
	"net"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
)

// Cloud is one of Azure's clouds, or another endpoint with their API.
type Cloud struct {
	Name string
	// CLI is what the Azure CLI calls it, "" when it is not one of Azure's.
	CLI           string
	configuration cloud.Configuration
}

// clouds are Azure's. Tools spell their names in many ways, which are all taken.
var clouds = []struct {
	Cloud
	also []string
}{
	{Cloud{"AzurePublic", "AzureCloud", cloud.AzurePublic}, []string{"AzurePublicCloud", "public"}},
	{Cloud{"AzureGovernment", "AzureUSGovernment", cloud.AzureGovernment}, []string{"AzureUSGovernmentCloud", "usgovernment"}},
	{Cloud{"AzureChina", "AzureChinaCloud", cloud.AzureChina}, []string{"china"}},
}

// ParseCloud finds one of Azure's clouds by its name, in any case; "" is the
// public one.
func ParseCloud(name string) (Cloud, error) {
	if name == "" {
		return clouds[0].Cloud, nil
	}
	var names []string
	for _, c := range clouds {
		for _, known := range append([]string{c.Name, c.CLI}, c.also...) {
			if strings.EqualFold(known, name) {
				return c.Cloud, nil
			}
		}
		names = append(names, c.Name)
	}
	return Cloud{}, &SetupError{Message: fmt.Sprintf("there is no cloud %q: choose one of %s, or give the https:// URL of a Resource Manager", name, strings.Join(names, ", "))}
}

// endpointCloud is a Resource Manager that is none of Azure's clouds'. Audience
// is whom tokens for it are made out to, the endpoint itself when it is "". The
// login endpoint is that of AZURE_AUTHORITY_HOST, or else of the public cloud.
func endpointCloud(endpoint, audience string) Cloud {
	endpoint = strings.TrimSuffix(endpoint, "/")
	if audience == "" {
		audience = endpoint
	}
	return Cloud{Name: endpoint, configuration: cloud.Configuration{
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: endpoint, Audience: audience}},
	}}
}

// known is the cloud itself, or the public one for the zero value.
func (c Cloud) known() (Cloud, error) {
	if c.Name == "" {
		return clouds[0].Cloud, nil
	}
	u, err := url.Parse(c.manager().Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return c, &SetupError{Message: fmt.Sprintf("%q is no URL of a Resource Manager: write it like https://management.example.com", c.manager().Endpoint)}
	}
	return c, nil
}

func (c Cloud) manager() cloud.ServiceConfiguration {
	return c.configuration.Services[cloud.ResourceManager]
}

func (c Cloud) url() *url.URL {
	u, err := url.Parse(c.manager().Endpoint)
	if err != nil {
		return &url.URL{}
	}
	return u
}

// loopback is whether the endpoint is plain http on this machine, as the
// emulator is.
func (c Cloud) loopback() bool {
	u := c.url()
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// azure is whether the endpoint belongs to Azure, by whatever name it was
// given.
func (c Cloud) azure() bool {
	host := strings.ToLower(c.url().Hostname())
	for _, known := range clouds {
		theirs := known.url().Hostname()
		if host == theirs || strings.HasSuffix(host, "."+theirs) {
			return true
		}
	}
	return false
}

// mayHave refuses a credential that must not be sent here.
func (c Cloud) mayHave(credential azcore.TokenCredential) error {
	_, fixed := credential.(fixedToken)
	switch {
	case fixed && c.azure():
		return &SetupError{Message: "a fixed token is for an emulator, and is not sent to " + c.url().Host + ": leave it out, and Azure's own credentials are used"}
	case fixed && c.url().Scheme == "http" && !c.loopback():
		return &SetupError{Message: "a token goes over TLS or to this machine only, and " + c.Name + " is neither: use its https:// URL"}
	case !fixed && c.url().Scheme != "https":
		return &SetupError{Message: "a credential of Azure is not sent to " + c.Name + ", which is plain http: an emulator there needs a token of its own"}
	case !fixed && c.CLI == "" && !c.azure() && azureAudience(c.manager().Audience):
		// its receiver could use such a token at Azure itself
		return &SetupError{Message: "a token for Azure itself is not sent to " + c.Name + ": its audience is " + c.manager().Audience}
	}
	return nil
}

func azureAudience(audience string) bool {
	u, err := url.Parse(audience)
	if err != nil {
		return false
	}
	for _, known := range clouds {
		theirs, err := url.Parse(known.manager().Audience)
		if err == nil && (strings.EqualFold(u.Host, theirs.Host) || strings.EqualFold(u.Host, known.url().Host)) {
			return true
		}
	}
	return false
}
