package arc

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// hint is what to do about an error of ARM's.
func (c *Client) hint(e *Error) string {
	switch {
	case e.Code == "":
		return fmt.Sprintf("a proxy may be on the way to %s, check HTTPS_PROXY and the endpoint", c.cloud.endpoint.Host)
	case unregistered(e.Code):
		return "register the provider, `az provider register --namespace " + provider(e.Message) + " --subscription " + c.subscription + "`"
	case e.Status < http.StatusMultipleChoices:
		return "read the configuration's statuses with `az k8s-configuration flux show`, correct what they report, and run this again"
	case e.Status == http.StatusUnauthorized:
		return c.logIn(e)
	case e.Status == http.StatusForbidden:
		return c.roles(e)
	case e.Code == "SubscriptionNotFound":
		return fmt.Sprintf("check the ID (AZURE_SUBSCRIPTION_ID), the cloud (%s), and that the login is one of the subscription's tenant%s: AZURE_TENANT_ID names it", c.cloud.Name, c.as())
	case e.Status == http.StatusNotFound:
		return "check the names of the resource group, the cluster and the configuration, the type of the cluster, and the subscription " + c.subscription
	case e.Code == "ClusterOffline": // the emulator's
		return "start the cluster"
	case e.Code == "ScopeLocked":
		return "take the lock off, or leave the cluster out"
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionFailed:
		return "another write to the same resource is in progress: when it is done, run this again"
	case e.Status >= http.StatusInternalServerError:
		return "Azure has a problem, see azure.status.microsoft; nothing is lost, run this again later"
	}
	return "Azure does not accept this request: correct what it names, and run this again"
}

// as names the account that was used.
func (c *Client) as() string {
	if account := c.account.String(); account != "" {
		return ", which is now " + account
	}
	return ""
}

func (c *Client) logIn(e *Error) string {
	if c.account.fixed() {
		return "the token for " + c.cloud.Name + " is wrong or no longer good"
	}
	text := "log in again (`az login`, azure/login in a workflow)"
	if strings.Contains(e.Code, "Tenant") {
		text = "the login is of another tenant than the subscription: set AZURE_TENANT_ID to the subscription's and log in there"
	}
	if account := c.account.String(); account != "" {
		text += "; refused was " + account
	}
	return text
}

// authorization is how ARM words what is not allowed
// (learn.microsoft.com/azure/role-based-access-control/troubleshooting).
var authorization = regexp.MustCompile(`perform action '([^']+)'(?:.*?over scope '([^']+)')?`)

// roles names the role that is missing, and its scope.
func (c *Client) roles(e *Error) string {
	if c.account.fixed() {
		return "the token for " + c.cloud.Name + " may not do this"
	}
	account := c.account.String()
	if account == "" {
		account = "the account"
	}
	action, scope := "read", "/subscriptions/"+strings.Join(c.fleet, " and /subscriptions/")
	if m := authorization.FindStringSubmatch(e.Message); m != nil {
		action = m[1]
		if m[2] != "" {
			scope = m[2]
		}
	} else if e.Code != "AccessDenied" && e.Code != "AuthorizationFailed" {
		return account + " is not allowed to do this, and not for a missing role: ask the owner of the subscription " + c.subscription
	}
	return fmt.Sprintf("give %s the role %s on %s, and log in again once it has it", account, roleFor(action), scope)
}

// roleFor is the least of Azure's own roles that has an action.
func roleFor(action string) string {
	if strings.HasSuffix(action, "read") {
		return "Reader"
	}
	return "Contributor (or one of your own with " + action + ")"
}

func unregistered(code string) bool {
	switch code {
	case "MissingSubscriptionRegistration", "SubscriptionNotRegistered", "NoRegisteredProviderFound", "InvalidResourceNamespace":
		return true
	}
	return false
}

var namespace = regexp.MustCompile(`Microsoft\.[A-Za-z]+`)

// provider is the one that a message is about.
func provider(message string) string {
	if p := namespace.FindString(message); p != "" {
		return p
	}
	return "Microsoft.KubernetesConfiguration"
}
