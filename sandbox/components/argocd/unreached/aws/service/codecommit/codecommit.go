// Package codecommit reads repositories.
package codecommit

import (
	"errors"

	"github.com/aws/aws-sdk-go/aws"
	"github.com/aws/aws-sdk-go/aws/request"
	"github.com/aws/aws-sdk-go/aws/session"
)

// Codes of errors.
const (
	ErrCodeRepositoryDoesNotExistException = "RepositoryDoesNotExistException"
	ErrCodeCommitDoesNotExistException     = "CommitDoesNotExistException"
	ErrCodeFolderDoesNotExistException     = "FolderDoesNotExistException"
)

type (
	// CodeCommit can nothing.
	CodeCommit struct{}
	// ListRepositoriesInput is a request.
	ListRepositoriesInput struct{ NextToken *string }
	// ListRepositoriesOutput is its answer.
	ListRepositoriesOutput struct {
		Repositories []*RepositoryNameIdPair
		NextToken    *string
	}
	// RepositoryNameIdPair is a repository.
	RepositoryNameIdPair struct{ RepositoryName *string }
	// GetRepositoryInput is a request.
	GetRepositoryInput struct{ RepositoryName *string }
	// GetRepositoryOutput is its answer.
	GetRepositoryOutput struct{ RepositoryMetadata *RepositoryMetadata }
	// RepositoryMetadata describes a repository.
	RepositoryMetadata struct {
		AccountId, CloneUrlHttp, CloneUrlSsh, DefaultBranch, RepositoryId, RepositoryName *string
	}
	// ListBranchesInput is a request.
	ListBranchesInput struct{ RepositoryName, NextToken *string }
	// ListBranchesOutput is its answer.
	ListBranchesOutput struct {
		Branches  []*string
		NextToken *string
	}
	// GetFolderInput is a request.
	GetFolderInput struct{ CommitSpecifier, FolderPath, RepositoryName *string }
	// GetFolderOutput is its answer.
	GetFolderOutput struct{ SubModules, SubFolders, Files, SymbolicLinks []*Entry }
	// Entry is one of a folder.
	Entry struct{ RelativePath *string }
)

var errNone = errors.New("this Argo CD is built without Amazon's client")

// New makes a client.
func New(*session.Session) *CodeCommit { return &CodeCommit{} }

func (*CodeCommit) ListRepositoriesWithContext(aws.Context, *ListRepositoriesInput, ...request.Option) (*ListRepositoriesOutput, error) {
	return nil, errNone
}

func (*CodeCommit) GetRepositoryWithContext(aws.Context, *GetRepositoryInput, ...request.Option) (*GetRepositoryOutput, error) {
	return nil, errNone
}

func (*CodeCommit) ListBranchesWithContext(aws.Context, *ListBranchesInput, ...request.Option) (*ListBranchesOutput, error) {
	return nil, errNone
}

func (*CodeCommit) GetFolderWithContext(aws.Context, *GetFolderInput, ...request.Option) (*GetFolderOutput, error) {
	return nil, errNone
}
