package validate

import (
	"slices"

	"github.com/kalypso-dev/kalypso/scheduler/model"
	"github.com/kalypso-dev/kalypso/scheduler/plan"
)

// The IDs of rules beside the codes of the model and the plan. They are part of the contract: scripts
// and comments name them.
const (
	EmptyConfig           = "empty-config"
	EmptySelector         = "empty-selector"
	ExposedTests          = "exposed-policy-tests"
	FailedTest            = "policy-test"
	InvalidConfig         = "invalid-config"
	InvalidConfigKey      = "invalid-config-key"
	InvalidLabel          = "invalid-label"
	InvalidModel          = "invalid-model"
	InvalidSchema         = "invalid-schema"
	InvalidTest           = "invalid-policy-test"
	InvalidText           = "invalid-text"
	KustomizationFile     = "kustomization-file"
	LongName              = "long-name"
	MissingTemplate       = "missing-template"
	NoClusterTypes        = "no-cluster-types"
	NoTargets             = "no-deployment-targets"
	NotKubernetes         = "not-kubernetes"
	Placeholder           = "placeholder"
	PlatformSecret        = "platform-secret"
	PolicyNoClusterType   = "policy-no-cluster-type"
	PolicyNoTarget        = "policy-no-target"
	RenderedTwice         = "rendered-twice"
	SchemaKeyword         = "schema-keyword"
	SecretInConfig        = "secret-in-config"
	ShadowedConfig        = "shadowed-config"
	SharedGitOps          = "shared-gitops-branch"
	SkippedFile           = "skipped-file"
	TemplateError         = "template-error"
	UnknownEnvironment    = "unknown-environment"
	UnmatchedConfig       = "unmatched-config"
	UnmatchedSchema       = "unmatched-schema"
	UnscheduledTarget     = "unscheduled-target"
	UnselectedClusterType = "unselected-cluster-type"
	UnusedRegistration    = "unused-registration"
	UnusedTemplate        = "unused-template"
)

// Rule is one thing that is looked for.
type Rule struct {
	ID       string         `json:"id"`
	Severity model.Severity `json:"severity"` // of most of its findings
	Summary  string         `json:"summary"`  // what a finding says, in one sentence
	Help     string         `json:"help"`     // why it matters and what to do
}

// Rules returns all rules, sorted by ID.
func Rules() []Rule { return slices.Clone(rules) }

var rules = []Rule{
	{plan.AmbiguousName, Error, "Two deployment targets have the same name.",
		"A deployment target is called <workload>-<target>, and names may hold a dash too. Both would use one folder, so neither is generated. Rename one of the workloads or targets."},
	{model.AppConfigKey, Warning, "A key of an azure-app-config ConfigMap is not of the form label.value.key.",
		"Such a ConfigMap's keys carry their labels: pairs of label and value, then one name without dots. Any other key is left out."},
	{model.CostlyExpression, Error, "A policy's expression in CEL may take too long.",
		"The policy selects nothing. An expression is evaluated for every deployment target or cluster type, so its cost is bounded: at most 2000 characters, and 10,000 of CEL's units for one object with as many labels as there may be. Ask for labels by their keys: a macro within a macro looks at each label once for each other."},
	{model.DuplicateObject, Error, "An object is defined twice.",
		"Only the first one counts, in order of branch before base and of the files' paths. Rename or remove one."},
	{EmptyConfig, Note, "A platform ConfigMap has no data.", "It gives nothing to anybody. Fill or remove it."},
	{EmptySelector, Warning, "A policy's selector is empty.",
		"An empty selector selects everything, also what somebody will add next year. Where that is meant, say so by a comment: # kalypso:ignore empty-selector"},
	{ExposedTests, Warning, "Flux can see a file of policy tests.",
		"Policy tests are no Kubernetes objects. Where Flux applies the branch, as upstream's installation does, it fails on them. Write *.policytest.yaml into .sourceignore."},
	{InvalidConfig, Error, "Composed configuration breaks a schema.",
		"The assignment keeps its present manifests until its configuration satisfies all schemas, their formats (uri, ipv4, date-time and the like) as well. Correct the value where the finding stands; provide one that is missing in a ConfigMap labelled platform-config: \"true\" whose other labels match."},
	{InvalidConfigKey, Warning, "A configuration key is none that Kubernetes takes.",
		"The key ends in a ConfigMap on clusters. It may hold letters, digits, dots, dashes and underscores only."},
	{model.InvalidExpression, Error, "A policy's expression in CEL cannot be used.",
		"The policy selects nothing. The finding stands at the character where the expression does not parse, at the variable that is not known, or where texts are compared with what is no text. An expression is true or false, and reads labels and names."},
	{model.InvalidField, Error, "A field's value has the wrong form.", "The object is left out. Types are not guessed: put text that looks like a number or a boolean in quotes."},
	{InvalidLabel, Warning, "A label is none that Kubernetes takes.",
		"Where the branch is applied to a cluster, as upstream's installation does, the API server refuses the object."},
	{InvalidModel, Error, "The platform model has another mistake.", "See the message."},
	{model.InvalidName, Error, "A name is none that Kubernetes takes.", "Names consist of lower-case letters, digits, dashes and dots, and begin and end with a letter or digit."},
	{InvalidTest, Error, "A policy test is not as it must be.", "No test of the file counts. A misspelled expectation would be one that always holds, so unknown fields are errors."},
	{model.InvalidRollout, Error, "A Rollout cannot be carried out as it is.",
		"The waves of its cluster type stay as they are, and nothing else is affected. Each wave holds a number or a share of the clusters, or those that a selector matches; a wave that others leave no cluster is a mistake, as are shares of more than all. The last wave holds the rest. A cluster type has one Rollout."},
	{InvalidSchema, Error, "A configuration schema is no JSON schema.", "Assignments that it applies to keep their present manifests. References to other documents are not followed."},
	{model.InvalidSelector, Error, "A policy's selector cannot be used.", "The policy selects nothing. Operators are In, NotIn, Exists and DoesNotExist; only the first two take values."},
	{InvalidText, Error, "What a workload says is more than a text.",
		"Its labels and manifests end in files that clusters obey: they hold no control characters and no URL with a password, and end no value or document of a template that does not quote. The assignments concerned keep their present manifests."},
	{model.InvalidValue, Error, "A field has a value that is not known.", "The object is left out. The hint says which values there are."},
	{model.InvalidYAML, Error, "A file is no YAML.", "All its documents are left out. If it is no part of the platform model, name it in .sourceignore."},
	{KustomizationFile, Warning, "A kustomization.yaml lies beside objects of the platform.",
		"Flux, which applies the branch in upstream's installation, applies only what such a file lists, and makes of it what the file says. The scheduler reads all YAML files as they stand. List them all and change nothing there, or remove the file."},
	{LongName, Error, "A computed name is too long.", "Names of deployment targets and namespaces are joined from several names, and Kubernetes takes 63 characters."},
	{model.MisplacedObject, Warning, "An object of the platform lies in an application's repository.",
		"ConfigMaps of the platform, ConfigSchemas and all other objects but Workloads are read from the control plane and its base repositories, for an application team must not configure the platform. Move it there; a schema for one's own targets may be in the workload's configSchemas."},
	{model.MisplacedWorkload, Warning, "A Workload lies in the control plane.", "Workloads are read from the folder that a WorkloadRegistration names. Move it there."},
	{model.MissingField, Error, "A field is missing.", "The object is left out until it has the field."},
	{model.MissingObject, Error, "An environment lacks an object that it must have.", "Every environment's branch has a BaseRepo named main and one GitOpsRepo."},
	{model.MissingReference, Error, "A repository, branch, commit or folder is not there.", "What should come from there is missing from the plan. Check the spelling, or create it."},
	{MissingTemplate, Error, "A cluster type names a template that does not exist.", "Nothing can be generated for the cluster type. Correct the name, or add the template to the base repository."},
	{model.MissingWorkload, Error, "A registration points to a folder without a Workload.", "Put a Workload there, or correct the path."},
	{NoClusterTypes, Warning, "An environment has no cluster types.", "Nothing can be scheduled there. Add a ClusterType to its branch."},
	{NoTargets, Note, "An environment has no deployment targets.", "No registered workload asks for it, so that no rule can judge its policies."},
	{model.NoEffect, Warning, "What was given on the command line is not used.", "A --workload names a registration that this environment does not have."},
	{NotKubernetes, Warning, "A template makes a document that is no Kubernetes object.",
		"A document needs apiVersion, kind and metadata.name. GitOps tools refuse a folder with any other document in it."},
	{Placeholder, Warning, "A placeholder of the tutorials is still there.", "Replace YOUR_ORG by your organisation's name."},
	{PlatformSecret, Warning, "A Secret is labelled as platform configuration.",
		"Only ConfigMaps are composed: the result is written to the GitOps repository for all to read, so a Secret is passed over. Put what is not secret into a ConfigMap; for the rest write the name of an entry in a secret store there, which clusters read themselves."},
	{PolicyNoClusterType, Warning, "A policy matches no cluster type.", "It schedules nothing. The finding stands at the clause that fits no cluster type."},
	{PolicyNoTarget, Warning, "A policy matches no deployment target.", "It schedules nothing. The finding stands at the clause that fits no deployment target."},
	{FailedTest, Error, "A policy test fails.", "The policies do not do what the test says. The hint says why."},
	{model.RefusedHost, Error, "A repository is on a server that is not asked.",
		"Who registers a workload must not have the scheduler look around in its network. It reads from the forge's host and from those that its configuration names in allowedHosts; commands read from those that flags and the folder's remotes name, and from --allow-host. Where it redirects to another host it is not followed."},
	{RenderedTwice, Warning, "Two deployment targets of a cluster type make the same object.",
		"Flux refuses the whole cluster type's folder then, and other tools let one win. Let the template put the deployment target's name into the object's name."},
	{SchemaKeyword, Warning, "A configuration schema has a misspelled keyword.", "JSON schema ignores keywords that it does not know, so the schema asks for less than it seems to."},
	{SecretInConfig, Warning, "A key of platform configuration looks like that of a secret.",
		"Platform configuration is in git, and goes to the GitOps repository and to pull requests as it stands. Keep secrets in a store that clusters read, and name the entry here: a value that refers to something ($VAR, <...>, {{ }}, a URL or a path) is no finding, nor is a key that ends in name, id, file, path, url or ref."},
	{ShadowedConfig, Note, "A configuration value never counts.", "ConfigMaps are merged in order of their names, and a later one overrides this value wherever it applies."},
	{SharedGitOps, Error, "Two environments publish to the same branch.",
		"Each would remove what the other one has, so neither is published. It happens when an environment's branch is made from another one's: give each GitOpsRepo a branch or a folder of its own."},
	{plan.SharedNamespace, Warning, "Two assignments get the same namespace.",
		"The value .Namespace is <environment>-<clusterType>-<deploymentTarget>, and names may hold a dash too. It matters as soon as a cluster follows both folders; where no template prints the value it is not reported."},
	{SkippedFile, Warning, "A symbolic link or a submodule is not read.",
		"Neither is followed, by Flux as little as by the scheduler: what it leads to is no part of the platform model. Commit the files themselves, name another repository as a BaseRepo, or name the entry in .sourceignore."},
	{TemplateError, Error, "A template does not parse, or fails for an assignment.", "The assignment keeps its present manifests until the template works for it."},
	{model.TooLarge, Error, "A repository, a file or an object is larger than any may be.", "It is left out, so that it takes no more time and memory than its share. The message has the limit, the hint a way to stay within it."},
	{UnknownEnvironment, Warning, "A deployment target is for an environment that does not exist.", "It is scheduled nowhere. Correct the name, or add an Environment."},
	{model.UnknownField, Warning, "A field is not known.", "It is left out. In selectors it is an error, because a selector without its condition would select everything."},
	{model.UnknownKind, Error, "A document's kind or version is not known.", "The document is left out."},
	{UnmatchedConfig, Warning, "Platform configuration applies to nothing.", "Its labels fit no cluster type with any deployment target. The finding stands at the label that fits none."},
	{UnmatchedSchema, Warning, "A ConfigSchema applies to nothing.", "Its labels fit no cluster type with any deployment target. The finding stands at the label that fits none."},
	{model.UnreadableSource, Error, "A workload's repository cannot be read.", "Only the scheduler reports it: what there is of the workload stays as it is, all else goes on, and it is tried again. For commands it is an error."},
	{UnscheduledTarget, Warning, "No policy schedules a deployment target.", "The application team asked for it and gets nothing. Add a policy whose selectors fit it."},
	{UnselectedClusterType, Note, "No policy selects a cluster type.", "Nothing is scheduled there until one does."},
	{UnusedRegistration, Warning, "A registered workload has no deployment target for any environment.", "It is scheduled nowhere. Correct the workload's environments, or remove the registration."},
	{UnusedTemplate, Note, "No cluster type names a template.", "Remove it, or leave it for a cluster type to come."},
	{plan.WrongTemplate, Warning, "A cluster type uses a template for what it is not made for.",
		"The template's type says which of an assignment's files it makes, and the field is for another one. Its result lies where another file belongs."},
}
