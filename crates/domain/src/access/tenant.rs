//! Tenants, their members and their projects as they are read.

use std::str::FromStr;

use jiff::Timestamp;

use super::principal::{InvalidSlug, Slug};
use super::project_setup::ProjectSetup;
use super::role::Role;
use crate::ids::{PrincipalId, ProjectId, TenantId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub slug: String,
    pub name: String,
    pub created_at: Timestamp,
    pub setup: Option<ProjectSetup>,
}

/// A project as a request names it. An id contains `_`, which a slug cannot.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub enum ProjectKey {
    Id(ProjectId),
    Slug(Slug),
}

impl FromStr for ProjectKey {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        match text.parse() {
            Ok(id) => Ok(Self::Id(id)),
            Err(_) => text.parse().map(Self::Slug),
        }
    }
}

impl TryFrom<String> for ProjectKey {
    type Error = InvalidSlug;

    fn try_from(text: String) -> Result<Self, InvalidSlug> {
        text.parse()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenant {
    pub id: TenantId,
    pub slug: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub principal: PrincipalId,
    pub name: String,
    pub role: Role,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_is_named_by_id_or_slug() {
        let id = ProjectId::generate();
        assert_eq!(id.to_string().parse(), Ok(ProjectKey::Id(id)));
        let slug = "website".parse().map(ProjectKey::Slug);
        assert_eq!("website".parse(), slug);
        for text in ["", "Not A Slug", "prj_1", "../website"] {
            assert!(text.parse::<ProjectKey>().is_err(), "{text}");
        }
    }
}
