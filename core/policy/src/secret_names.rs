//! Names of files that hold credentials, one row each with the tool that writes it.
//!
//! Inside a folder that is lent, these are covered: a toolchain or a data set is what the session needs, the login
//! that lies beside it is not. A person who lends such a file by its own name gets it. Names are compared without
//! regard to case and from the end, so a row counts at any depth: a home inside a home is still a home.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

/// One row.
#[derive(Debug, PartialEq, Eq)]
pub struct SecretFile {
    /// The last components of the path, in lower case; `*` stands for any run of characters in one name.
    pub path: &'static str,
    /// The tool whose credentials it holds.
    pub tool: &'static str,
    /// What kind of file it is.
    pub kind: SecretKind,
    /// Where the tool documents it.
    pub source: &'static str,
}

/// How sure a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretKind {
    /// The place where a tool keeps a login. The name alone is enough.
    Login,
    /// A key by its name or ending. Sources of libraries carry such files as test data.
    Key,
    /// Variables for a program, credentials among them. Sources of libraries carry such files as test data.
    Variables,
}

/// The row for `path`, absolute or relative, when its name says that it holds credentials.
#[must_use]
pub fn secret_file(path: impl AsRef<Path>) -> Option<&'static SecretFile> {
    let path = path.as_ref().as_os_str().as_bytes();
    let parts: Vec<Vec<u8>> = path
        .split(|&b| b == b'/')
        .filter(|part| !part.is_empty())
        .map(<[u8]>::to_ascii_lowercase)
        .collect();
    let name = parts.last()?;
    if HARMLESS.iter().any(|end| name.ends_with(end.as_bytes())) {
        return None;
    }
    let exact = BY_NAME.exact.get(name.as_slice()).into_iter().flatten();
    let mut rows = exact.chain(&BY_NAME.starred).copied();
    rows.find(|row| {
        let mut wanted = row.path.rsplit('/');
        let mut found = parts.iter().rev();
        wanted.all(|part| {
            let name = found.next();
            name.is_some_and(|name| crate::lending::name_matches(part.as_bytes(), name))
        })
    })
}

/// The rows by their last component: whole trees are asked about, file by file.
struct ByName {
    exact: HashMap<&'static [u8], Vec<&'static SecretFile>>,
    starred: Vec<&'static SecretFile>,
}

static BY_NAME: LazyLock<ByName> = LazyLock::new(|| {
    let mut by_name = ByName {
        exact: HashMap::new(),
        starred: Vec::new(),
    };
    for row in SECRET_FILES {
        match row.path.rsplit('/').next() {
            Some(name) if !name.contains('*') => {
                by_name.exact.entry(name.as_bytes()).or_default().push(row)
            }
            _ => by_name.starred.push(row),
        }
    }
    by_name
});

/// Ends of names that say the opposite.
const HARMLESS: [&str; 7] = [
    ".pub",
    ".example",
    ".sample",
    ".template",
    ".dist",
    ".md",
    ".schema.json",
];

const fn login(path: &'static str, tool: &'static str, source: &'static str) -> SecretFile {
    SecretFile {
        path,
        tool,
        kind: SecretKind::Login,
        source,
    }
}

const fn key(path: &'static str, tool: &'static str, source: &'static str) -> SecretFile {
    SecretFile {
        path,
        tool,
        kind: SecretKind::Key,
        source,
    }
}

const fn variables(path: &'static str, tool: &'static str, source: &'static str) -> SecretFile {
    SecretFile {
        path,
        tool,
        kind: SecretKind::Variables,
        source,
    }
}

/// All rows, by kind.
#[rustfmt::skip]
pub static SECRET_FILES: &[SecretFile] = &[
    // Package managers and registries.
    login(".cargo/credentials.toml", "cargo", "The Cargo Book, cargo login"),
    login(".cargo/credentials", "cargo", "The Cargo Book, cargo login"),
    login(".npmrc", "npm, pnpm", "npmrc(5)"),
    login(".yarnrc.yml", "yarn", "Yarn, npmAuthToken"),
    login(".yarnrc", "yarn", "Yarn 1, yarnrc"),
    login("pnpm/auth.ini", "pnpm", "pnpm, authentication settings"),
    login(".bunfig.toml", "bun", "Bun, bunfig.toml"),
    login(".pypirc", "twine", "PyPA, .pypirc"),
    login("pip.conf", "pip", "pip, configuration"),
    login(".pip/pip.conf", "pip", "pip, configuration"),
    login("pypoetry/auth.toml", "poetry", "Poetry, repositories"),
    login("uv/credentials.toml", "uv", "uv, authentication"),
    login("uv/credentials/*", "uv", "uv, authentication"),
    login(".condarc", "conda", "conda, .condarc"),
    login(".gem/credentials", "gem", "RubyGems, API authorisation"),
    login(".bundle/config", "bundler", "bundle-config(1)"),
    login(".config/composer/auth.json", "composer", "Composer, authentication"),
    login(".composer/auth.json", "composer", "Composer, authentication"),
    login(".gradle/gradle.properties", "gradle", "Gradle, build environment"),
    login(".m2/settings.xml", "maven", "Maven, settings reference"),
    login(".m2/settings-security.xml", "maven", "Maven, password encryption"),
    login(".sbt/.credentials", "sbt", "sbt, publishing"),
    login(".ivy2/.credentials", "sbt", "sbt, publishing"),
    login(".nuget/nuget.config", "nuget", "NuGet, configuration"),
    login("nuget/nuget.config", "nuget", "NuGet, configuration"),
    login(".mix/hex.config", "hex", "mix hex.user"),
    login(".hex/hex.config", "hex", "mix hex.user"),
    login(".config/go/env", "go", "go help env"),
    login(".cocoapods/sessions", "cocoapods", "CocoaPods, trunk"),
    // Forges and git.
    login(".netrc", "curl, git", "curl(1), --netrc"),
    login("_netrc", "curl, git", "curl(1), --netrc"),
    login(".netrc.gpg", "git", "git-credential-netrc"),
    login(".git-credentials", "git", "git-credential-store(1)"),
    login("git/credentials", "git", "git-credential-store(1)"),
    login("gh/hosts.yml", "gh", "gh auth login"),
    login("glab-cli/config.yml", "glab", "glab auth login"),
    login(".config/hub", "hub", "hub(1), configuration"),
    login("tea/config.yml", "tea", "Gitea, tea"),
    login("jj/config.toml", "jj", "jj, configuration"),
    // Containers and clusters.
    login(".docker/config.json", "docker", "docker login"),
    login(".docker/contexts/tls/*", "docker", "docker context"),
    login("containers/auth.json", "podman", "containers-auth.json(5)"),
    login(".dockercfg", "docker", "docker login, old form"),
    login(".kube/config", "kubectl", "kubectl, kubeconfig"),
    login("kubeconfig", "kubectl", "kubectl, kubeconfig"),
    login("*.kubeconfig", "kubectl", "kubectl, kubeconfig"),
    login("helm/registry/config.json", "helm", "helm registry login"),
    login(".config/argocd/config", "argocd", "argocd login"),
    // Clouds and platforms.
    login(".aws/credentials", "aws", "AWS CLI, configuration and credential files"),
    login(".aws/config", "aws", "AWS CLI, configuration and credential files"),
    login("application_default_credentials.json", "gcloud", "gcloud auth application-default"),
    login("credentials.db", "gcloud", "gcloud topic configurations"),
    login("access_tokens.db", "gcloud", "gcloud topic configurations"),
    login("msal_token_cache.*", "az", "Azure CLI, token cache"),
    login("accesstokens.json", "az", "Azure CLI, old token cache"),
    login(".terraformrc", "terraform", "Terraform, CLI configuration"),
    login("credentials.tfrc.json", "terraform", "terraform login"),
    login("*.tfstate", "terraform", "Terraform, sensitive data in state"),
    login("*.tfstate.backup", "terraform", "Terraform, sensitive data in state"),
    login("terraform.tfvars", "terraform", "Terraform, input variables"),
    login("*.auto.tfvars", "terraform", "Terraform, input variables"),
    login(".pulumi/credentials.json", "pulumi", "pulumi login"),
    login(".vault-token", "vault", "Vault, token helper"),
    login(".config/configstore/firebase-tools.json", "firebase", "firebase login"),
    login(".wrangler/config/default.toml", "wrangler", "wrangler login"),
    login(".fly/config.yml", "flyctl", "fly auth"),
    login("com.vercel.cli/auth.json", "vercel", "vercel login"),
    login("netlify/config.json", "netlify", "netlify login"),
    login(".railway/config.json", "railway", "railway login"),
    login(".supabase/access-token", "supabase", "supabase login"),
    login("stripe/config.toml", "stripe", "stripe login"),
    login(".sentryclirc", "sentry-cli", "sentry-cli, configuration"),
    login("ngrok.yml", "ngrok", "ngrok, configuration file"),
    login(".s3cfg", "s3cmd", "s3cmd --configure"),
    login(".boto", "gsutil", "gsutil, boto configuration"),
    login("rclone.conf", "rclone", "rclone config"),
    login(".kaggle/kaggle.json", "kaggle", "Kaggle API, authentication"),
    login("huggingface/token", "huggingface", "hf auth login"),
    login("huggingface/stored_tokens", "huggingface", "hf auth login"),
    // Coding agents.
    login(".claude/.credentials.json", "claude", "Claude Code, identity and access"),
    login(".claude.json", "claude", "Claude Code, settings"),
    login(".codex/auth.json", "codex", "Codex CLI, authentication"),
    login(".gemini/oauth_creds.json", "gemini", "Gemini CLI, authentication"),
    login("opencode/auth.json", "opencode", "opencode, auth"),
    login("github-copilot/*.json", "copilot", "GitHub Copilot, editor log-in"),
    // Databases.
    login(".pgpass", "psql", "libpq, the password file"),
    login(".pg_service.conf", "psql", "libpq, the connection service file"),
    login(".my.cnf", "mysql", "MySQL, option files"),
    login(".mylogin.cnf", "mysql", "mysql_config_editor(1)"),
    login(".mongorc.js", "mongo", "mongo, start file"),
    // Keys and stores.
    key("id_rsa*", "ssh", "ssh-keygen(1)"),
    key("id_dsa*", "ssh", "ssh-keygen(1)"),
    key("id_ecdsa*", "ssh", "ssh-keygen(1)"),
    key("id_ed25519*", "ssh", "ssh-keygen(1)"),
    key("ssh_host_*_key", "sshd", "sshd(8)"),
    key("*.ppk", "putty", "PuTTY, private keys"),
    key("*.p12", "certificates with keys", "RFC 7292"),
    key("*.pfx", "certificates with keys", "RFC 7292"),
    key("*.jks", "java", "keytool(1)"),
    key("*.keystore", "java", "keytool(1)"),
    key("*.kdbx", "keepass", "KeePass, database"),
    key("*.key", "private keys", "openssl-genpkey(1)"),
    key("privkey*.pem", "private keys", "certbot, where are my certificates"),
    key("*-key.pem", "private keys", "mkcert and cfssl"),
    key("key.pem", "private keys", "openssl-genpkey(1)"),
    key("secring.*", "gpg", "gpg(1), old form"),
    key("age/keys.txt", "age", "sops, age keys"),
    key(".htpasswd", "httpd", "htpasswd(1)"),
    key("service-account*.json", "gcloud", "Google Cloud, service account keys"),
    key("*.keytab", "kerberos", "krb5.conf(5)"),
    // Variables in files.
    variables(".env", "dotenv", "dotenv"),
    variables(".env.*", "dotenv", "dotenv"),
    variables("*.env", "dotenv", "dotenv"),
    variables(".envrc", "direnv", "direnv(1)"),
    variables(".dev.vars", "wrangler", "wrangler, secrets in development"),
];

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_are_known_by_name_at_any_depth_and_in_any_case() {
        for (path, tool) in [
            ("/home/u/.cargo/credentials.toml", "cargo"),
            (".npmrc", "npm, pnpm"),
            ("deep/in/a/tree/.NPMRC", "npm, pnpm"),
            ("/home/u/.config/gh/hosts.yml", "gh"),
            ("/home/u/.ssh/id_ed25519", "ssh"),
            ("/backup/u/.kube/config", "kubectl"),
            ("app/.env.production", "dotenv"),
            ("infra/terraform.tfstate", "terraform"),
        ] {
            assert_eq!(secret_file(path).map(|row| row.tool), Some(tool), "{path}");
        }
    }

    #[test]
    fn what_only_looks_like_it_is_left_alone() {
        for path in [
            "",
            "/",
            "config",
            "app/config.json",
            "credentials.toml",
            "id_ed25519.pub",
            ".env.example",
            ".envoy",
            "src/key.rs",
        ] {
            assert_eq!(secret_file(path), None, "{path}");
        }
    }

    #[test]
    fn every_row_finds_itself_and_says_where_it_is_from() {
        for row in SECRET_FILES {
            let path = row.path.replace('*', "x");
            assert!(secret_file(&path).is_some(), "{path}");
            assert_eq!(
                row.path,
                row.path.to_lowercase(),
                "names are compared in lower case"
            );
            assert!(!row.tool.is_empty() && !row.source.is_empty(), "{path}");
            assert!(
                row.path
                    .split('/')
                    .all(|part| part.matches('*').count() <= 1),
                "{path}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_path_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = secret_file(OsStr::from_bytes(&bytes));
        }
    }
}
