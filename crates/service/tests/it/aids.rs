//! AIDs and their certificates on real PostgreSQL, read by OpenSSL.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use guildhall_domain::FailureKind;
use guildhall_domain::access::authorized::InstallationOperator;
use guildhall_domain::access::caller::Caller;
use guildhall_domain::access::principal::{PrincipalKind, TokenKind};
use guildhall_domain::identity::{
    Aid, AidName, CertificateStatus, IssuedCertificate, IssuerName, RegistrationMode, RevocationReason,
};
use guildhall_domain::ids::PrincipalId;
use guildhall_identity::pki::{Curve, EcKey, OcspStatus, P256PublicKey, der_to_pem};
use guildhall_identity::seal::Kek;
use guildhall_launcher::secrets::IssuerFolder;
use guildhall_runtime::Clock;
use guildhall_service::ServiceError;
use guildhall_service::identity::aids::Aids;
use guildhall_service::identity::issuer::Issuer;
use guildhall_service::identity::pki::Pki;
use guildhall_service::identity::transparency::Transparency;
use guildhall_store::principals::{self, NewPrincipal};
use guildhall_testkit::{Stopwatch, TestDb};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

use crate::store;

pub(crate) const ISSUER: &str = "guild.example";
const CLIENT: &str = "192.0.2.7";

pub(crate) struct IssuerFixture {
    pub(crate) db: TestDb,
    folder: TempDir,
    kek: Kek,
    operator: PrincipalId,
}

/// One replica of an installation that is an issuer.
pub(crate) struct Replica {
    pub(crate) aids: Aids,
    pki: Pki,
    pub(crate) transparency: Transparency,
}

impl IssuerFixture {
    pub(crate) async fn new() -> Self {
        let (db, folder, kek) =
            (TestDb::new().await, tempfile::tempdir().expect("a folder"), Kek::generate());
        let issuer: IssuerName = ISSUER.parse().expect("an issuer");
        let created = Issuer::create(&files(folder.path()), &kek, &issuer, Clock::system().now());
        assert!(created.expect("created"));
        let operator = PrincipalId::generate();
        let mut tx = store(db.url()).begin().await.expect("a transaction");
        let new = NewPrincipal { id: operator, kind: PrincipalKind::Person, name: "ada", is_operator: true };
        principals::insert(&mut tx, &new).await.expect("inserted");
        tx.commit().await.expect("committed");
        Self { db, folder, kek, operator }
    }

    pub(crate) fn replica(&self, registration: RegistrationMode) -> Replica {
        let (store, clock) = (store(self.db.url()), Clock::system());
        let issuer: IssuerName = ISSUER.parse().expect("an issuer");
        let issuer =
            Issuer::open(&files(self.folder.path()), &self.kek, &issuer, clock.now()).expect("opened");
        let issuer = Arc::new(issuer);
        Replica {
            aids: Aids::new(store.clone(), clock.clone(), Arc::clone(&issuer), registration),
            pki: Pki::new(store.clone(), clock.clone(), Arc::clone(&issuer)),
            transparency: Transparency::new(store, clock, issuer),
        }
    }

    pub(crate) fn operator(&self) -> InstallationOperator {
        InstallationOperator::new(caller(self.operator, true)).expect("an operator")
    }

    /// Makes all certificates older.
    async fn shift_certificates(&self, by: &str) {
        let shift = format!(
            "UPDATE aid_certificates SET not_before = not_before - interval '{by}', not_after = not_after - interval '{by}'"
        );
        self.db.sql().await.execute(shift).await;
    }

    async fn count(&self, table: &str) -> i64 {
        self.db.sql().await.number(&format!("SELECT count(*) FROM {table}")).await
    }
}

fn files(folder: &Path) -> IssuerFolder {
    IssuerFolder::new(&folder.join("secrets"))
}

fn caller(principal: PrincipalId, is_operator: bool) -> Caller {
    Caller {
        principal,
        kind: TokenKind::User,
        login: None,
        key: None,
        tenant: None,
        subject: None,
        expires_at: Timestamp::MAX,
        is_operator,
    }
}

pub(crate) fn name(text: &str) -> AidName {
    text.parse().expect("a name")
}

fn aid(text: &str) -> Aid {
    format!("{text}.{ISSUER}").parse().expect("an AID")
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Returns a new key as clients send it.
pub(crate) fn new_key() -> String {
    let key = P256PublicKey::of(&EcKey::generate(Curve::P256).expect("generated")).expect("a P-256 key");
    STANDARD.encode(key.spki())
}

fn kind<T: std::fmt::Debug>(result: Result<T, ServiceError>) -> FailureKind {
    result.expect_err("a failure").failure().kind
}

// covers: A27
#[tokio::test]
async fn closed_issuer_registers_a_reserved_name_for_one_address() {
    let fixture = IssuerFixture::new().await;
    let replicas = [fixture.replica(RegistrationMode::Closed), fixture.replica(RegistrationMode::Closed)];
    let (alice, key) = (aid("alice"), new_key());
    let register = |replica: usize, from: &str| replicas[replica].aids.register(&alice, &key, address(from));
    assert_eq!(kind(register(0, CLIENT).await), FailureKind::TenantPolicyDenied);
    replicas[0]
        .aids
        .reserve(&fixture.operator(), name("alice"), address(CLIENT), None)
        .await
        .expect("reserved");
    assert_eq!(kind(register(1, "192.0.2.8").await), FailureKind::TenantPolicyDenied);
    let issued = register(1, CLIENT).await.expect("registered at the other replica");
    let fingerprint = P256PublicKey::from_base64(&key).expect("a key").fingerprint();
    assert_eq!((issued.aid.clone(), issued.key_fingerprint), (alice.clone(), fingerprint));
    let found = replicas[0].aids.get(&caller(fixture.operator, true), &alice).await.expect("found");
    assert_ne!(found.owner, fixture.operator, "whoever registers it does not act for the operator");
    assert_eq!(found.certificate, issued);
    assert_eq!(fixture.count("aid_reservations").await, 0, "it is used up");
    let taken = replicas[0].aids.reserve(&fixture.operator(), name("alice"), address(CLIENT), None).await;
    assert_eq!(kind(taken), FailureKind::Conflict);
    let invalid = replicas[0].aids.register(&aid("bobby"), "AAAA", address(CLIENT)).await;
    assert_eq!(kind(invalid), FailureKind::SchemaInvalid);
    let reserved = replicas[0].aids.create(&fixture.operator(), name("gateway"), &key, None).await;
    assert_eq!(kind(reserved), FailureKind::SchemaInvalid);
    let foreign: Aid = "alice.other.example".parse().expect("an AID");
    assert_eq!(kind(replicas[0].aids.register(&foreign, &key, address(CLIENT)).await), FailureKind::NotFound);
}

#[tokio::test]
async fn concurrent_registrations_of_a_name_have_one_winner() {
    let fixture = IssuerFixture::new().await;
    let replicas = [fixture.replica(RegistrationMode::Open), fixture.replica(RegistrationMode::Open)];
    let before = fixture.count("principals").await;
    let keys: Vec<String> = (0..12).map(|_| new_key()).collect();
    let bobby = aid("bobby");
    let attempts = keys.iter().enumerate().map(|(number, key)| {
        let replica = &replicas[number % 2];
        replica.aids.register(&bobby, key, address(CLIENT))
    });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(attempts).await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 11));
    for result in lost {
        assert_eq!(kind(result), FailureKind::Conflict);
    }
    assert_eq!(fixture.count("aid_certificates").await, 1);
    assert_eq!(fixture.count("principals").await, before + 1, "those who lost left no principal");
}

#[tokio::test]
async fn aid_is_managed_by_its_owner_and_by_operators() {
    let fixture = IssuerFixture::new().await;
    let Replica { aids, .. } = fixture.replica(RegistrationMode::Open);
    aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    aids.register(&aid("bobby"), &new_key(), address(CLIENT)).await.expect("registered");
    let operator = caller(fixture.operator, true);
    let bobby = caller(aids.get(&operator, &aid("bobby")).await.expect("found").owner, false);
    let stranger = caller(PrincipalId::generate(), false);
    let names = |listed: Vec<guildhall_domain::identity::OwnedAid>| -> Vec<String> {
        listed.into_iter().map(|found| found.certificate.aid.to_string()).collect()
    };
    assert_eq!(
        names(aids.list(&operator, "", 10).await.expect("listed")),
        ["alice.guild.example", "bobby.guild.example"]
    );
    assert_eq!(
        names(aids.list(&operator, "alice.guild.example", 10).await.expect("listed")),
        ["bobby.guild.example"]
    );
    assert_eq!(names(aids.list(&bobby, "", 10).await.expect("listed")), ["bobby.guild.example"]);
    assert_eq!(names(aids.list(&stranger, "", 10).await.expect("listed")), [""; 0]);
    for (who, target) in [(&stranger, "alice"), (&bobby, "alice"), (&stranger, "nobody")] {
        let target = aid(target);
        assert_eq!(kind(aids.get(who, &target).await), FailureKind::NotFound);
        assert_eq!(kind(aids.renew(who, &target).await), FailureKind::NotFound);
        let revoked = aids.revoke(who, &target, RevocationReason::Unspecified).await;
        assert_eq!(kind(revoked), FailureKind::NotFound);
    }
    assert_eq!(fixture.count("aid_certificates WHERE revoked_at IS NOT NULL").await, 0);
}

#[tokio::test]
async fn renewed_certificate_signs_in_and_the_old_one_is_still_found() {
    let fixture = IssuerFixture::new().await;
    let Replica { aids, pki, .. } = fixture.replica(RegistrationMode::Closed);
    let (operator, alice) = (caller(fixture.operator, true), aid("alice"));
    let old = aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    assert_eq!(kind(aids.renew(&operator, &alice).await), FailureKind::Conflict, "it is new");
    fixture.shift_certificates("2 hours").await;
    let new = aids.renew(&operator, &alice).await.expect("renewed");
    assert_eq!(new.key_fingerprint, old.key_fingerprint);
    assert_ne!(new.serial, old.serial);
    let find = async |text: &str| {
        let query = text.parse().expect("a fingerprint");
        let found = pki.certificate(&alice, Some(&query)).await.expect("read");
        found.map(|found| (found.serial.clone(), found.status(Clock::system().now())))
    };
    let newest = Some((new.serial.clone(), CertificateStatus::Active));
    assert_eq!(
        pki.certificate(&alice, None).await.expect("read").map(|found| found.serial),
        Some(new.serial)
    );
    let (whole, key) = (old.fingerprint.to_string(), old.key_fingerprint.to_string());
    assert_eq!(find(&whole).await, Some((old.serial.clone(), CertificateStatus::VerifyOnly)));
    assert_eq!(
        find(&format!("sha256:{}", &whole[..16])).await,
        Some((old.serial, CertificateStatus::VerifyOnly))
    );
    assert_eq!(find(&key[..16]).await, newest, "both have the key: the newest is found");
    assert_eq!(find(&"0".repeat(64)).await, None);
    assert_eq!(pki.certificate(&aid("nobody"), None).await.expect("read"), None);
}

#[tokio::test]
async fn expired_key_that_is_revoked_gets_no_certificate() {
    let fixture = IssuerFixture::new().await;
    let Replica { aids, pki, .. } = fixture.replica(RegistrationMode::Closed);
    let (operator, alice) = (caller(fixture.operator, true), aid("alice"));
    let issued = aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    fixture.shift_certificates("100 days").await;
    let revoked = aids.revoke(&operator, &alice, RevocationReason::KeyCompromise).await.expect("revoked");
    assert_eq!(revoked.certificate.status(Clock::system().now()), CertificateStatus::Revoked);
    assert_eq!(kind(aids.renew(&operator, &alice).await), FailureKind::Conflict);
    assert_eq!(pki.ocsp(&issued.serial).await.expect("signed").status.as_str(), "revoked");
}

/// A request that waits for the AID must not wait for a second connection too: all of them would be in use.
#[tokio::test]
async fn concurrent_renewals_do_not_use_up_the_connections() {
    let fixture = IssuerFixture::new().await;
    let Replica { aids, .. } = fixture.replica(RegistrationMode::Closed);
    let (operator, alice) = (caller(fixture.operator, true), aid("alice"));
    aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    fixture.shift_certificates("2 hours").await;
    let waited = Stopwatch::start();
    let renewals = join_all((0..20).map(|_| aids.renew(&operator, &alice))).await;
    let (won, lost): (Vec<_>, Vec<_>) = renewals.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 19));
    for result in lost {
        assert_eq!(kind(result), FailureKind::Conflict, "the others come too early");
    }
    assert!(waited.elapsed() < Duration::from_secs(8), "{:?}", waited.elapsed());
}

#[tokio::test]
async fn revocation_list_that_would_leave_some_out_is_not_signed() {
    let fixture = IssuerFixture::new().await;
    let Replica { aids, pki, .. } = fixture.replica(RegistrationMode::Closed);
    aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    let many = "INSERT INTO aid_certificates (serial, aid, der, fingerprint, key_fingerprint, not_before, not_after, replaced_at, revoked_at, revocation_reason)
        SELECT int8send(number), aid, '', fingerprint, key_fingerprint, not_before, not_after, now(), now(), 'unspecified'
        FROM aid_certificates, generate_series(1, 100001) AS number";
    fixture.db.sql().await.execute(many).await;
    assert_eq!(kind(pki.revocation_list().await), FailureKind::Internal);
    fixture.db.sql().await.execute("DELETE FROM aid_certificates WHERE serial = int8send(100001)").await;
    assert!(pki.revocation_list().await.expect("signed").len() > 1_000_000);
}

/// Writes what OpenSSL reads.
struct OpenSsl<'a> {
    folder: &'a Path,
}

impl OpenSsl<'_> {
    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, content).expect("written");
        path
    }

    /// Runs a command in the folder. Returns whether it succeeded, and what it printed.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let output =
            Command::new("openssl").args(arguments).current_dir(self.folder).output().expect("openssl");
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }
}

/// The chain, the revocation list and the OCSP response are verified by OpenSSL, which knows none of our code.
// covers: A27
#[tokio::test]
async fn openssl_accepts_a_certificate_until_it_is_revoked() {
    let fixture = IssuerFixture::new().await;
    let (Replica { aids, pki, .. }, other) =
        (fixture.replica(RegistrationMode::Closed), fixture.replica(RegistrationMode::Closed));
    let alice = aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    let bobby = aids.create(&fixture.operator(), name("bobby"), &new_key(), None).await.expect("created");
    let folder = tempfile::tempdir().expect("a folder");
    let openssl = OpenSsl { folder: folder.path() };
    let chain = pki.chain();
    let issuer_end = chain.find("-----END CERTIFICATE-----\n").expect("a certificate") + 26;
    openssl.write("issuer.pem", &chain[..issuer_end]);
    openssl.write("root.pem", &chain[issuer_end..]);
    openssl.write("alice.pem", der_to_pem(&alice.der));
    openssl.write("bobby.pem", der_to_pem(&bobby.der));
    assert_eq!(pki.root(), &chain[issuer_end..]);

    let verify = |name: &str| {
        openssl.run(&["verify", "-x509_strict", "-CAfile", "root.pem", "-untrusted", "issuer.pem", name])
    };
    assert_eq!(verify("alice.pem"), (true, "alice.pem: OK\n".to_owned()));
    let (_, text) = openssl.run(&["x509", "-in", "alice.pem", "-noout", "-subject", "-serial"]);
    let serial = format!("{:0>32}", alice.serial.to_string().to_uppercase());
    assert_eq!(text, format!("subject=CN = alice.guild.example\nserial={serial}\n"));
    assert_eq!(ocsp(&openssl, &pki, &alice).await, (OcspStatus::Good.as_str(), "good".to_owned()));

    let operator = caller(fixture.operator, true);
    let revoked =
        aids.revoke(&operator, &aid("alice"), RevocationReason::KeyCompromise).await.expect("revoked");
    assert_eq!(revoked.certificate.status(Clock::system().now()), CertificateStatus::Revoked);
    aids.revoke(&operator, &aid("alice"), RevocationReason::Superseded)
        .await
        .expect("revoking again changes nothing");
    assert_eq!(kind(aids.renew(&operator, &aid("alice")).await), FailureKind::Conflict);
    openssl.write("list.pem", other.pki.revocation_list().await.expect("signed").as_bytes());
    let check = |name: &str| {
        openssl.run(&[
            "verify",
            "-crl_check",
            "-CAfile",
            "root.pem",
            "-untrusted",
            "issuer.pem",
            "-CRLfile",
            "list.pem",
            name,
        ])
    };
    let (accepted, text) = check("alice.pem");
    assert!(!accepted && text.contains("certificate revoked"), "{text}");
    assert_eq!(check("bobby.pem"), (true, "bobby.pem: OK\n".to_owned()));
    assert_eq!(ocsp(&openssl, &other.pki, &alice).await, ("revoked", "revoked".to_owned()));
    assert_eq!(ocsp(&openssl, &other.pki, &bobby).await, ("good", "good".to_owned()));
}

/// Returns the status that the server names, and the one that OpenSSL reads in the signed response.
async fn ocsp(openssl: &OpenSsl<'_>, pki: &Pki, certificate: &IssuedCertificate) -> (&'static str, String) {
    let answer = pki.ocsp(&certificate.serial).await.expect("signed");
    openssl.write("response.der", &answer.response);
    openssl.write("asked.pem", der_to_pem(&certificate.der));
    let (accepted, text) = openssl.run(&[
        "ocsp",
        "-respin",
        "response.der",
        "-sha256",
        "-issuer",
        "issuer.pem",
        "-cert",
        "asked.pem",
        "-CAfile",
        "root.pem",
        "-VAfile",
        "issuer.pem",
    ]);
    assert!(accepted && text.contains("Response verify OK"), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("asked.pem: ")).expect("a status");
    (answer.status.as_str(), line.to_owned())
}

#[tokio::test]
async fn certificate_that_nobody_issued_is_unknown() {
    let fixture = IssuerFixture::new().await;
    let Replica { pki, .. } = fixture.replica(RegistrationMode::Closed);
    let answer = pki.ocsp(&"1234".parse().expect("a serial number")).await.expect("signed");
    assert_eq!(answer.status, OcspStatus::Unknown);
}

#[test]
fn issuer_files_are_opened_only_with_their_key_and_name() {
    let (folder, kek, now) = (tempfile::tempdir().expect("a folder"), Kek::generate(), Clock::system().now());
    let files = files(folder.path());
    let issuer = |text: &str| text.parse::<IssuerName>().expect("an issuer");
    assert!(Issuer::open(&files, &kek, &issuer(ISSUER), now).is_err(), "there are no files yet");
    assert!(Issuer::create(&files, &kek, &issuer(ISSUER), now).expect("created"));
    assert!(!Issuer::create(&files, &kek, &issuer(ISSUER), now).expect("they stay"));
    assert!(Issuer::open(&files, &kek, &issuer(ISSUER), now).is_ok());
    assert!(Issuer::open(&files, &Kek::generate(), &issuer(ISSUER), now).is_err(), "another key");
    assert!(Issuer::open(&files, &kek, &issuer("other.example"), now).is_err(), "another name");
    let years = |count: i64| now + SignedDuration::from_hours(count * 365 * 24);
    assert!(
        Issuer::open(&files, &kek, &issuer(ISSUER), years(4)).is_ok(),
        "all certificates are valid for years"
    );
    assert!(Issuer::open(&files, &kek, &issuer(ISSUER), years(6)).is_err(), "the issuer has expired");
    for later in ["log.key", "trust.key", "trust.crt"] {
        std::fs::remove_file(folder.path().join("secrets/aun").join(later)).expect("removed");
    }
    let older =
        Issuer::open(&files, &kek, &issuer(ISSUER), now).expect("a folder of an older version is opened");
    assert!(older.log().is_err() && older.trust().is_err(), "and has no keys of the log and the list");
    assert!(Issuer::create(&files, &kek, &issuer(ISSUER), now).expect("added"));
    let added = Issuer::open(&files, &kek, &issuer(ISSUER), now).expect("opened");
    assert!(added.log().is_ok() && added.trust().is_ok());
    std::fs::remove_file(folder.path().join("secrets/aun/root.key")).expect("removed");
    assert!(
        Issuer::open(&files, &kek, &issuer(ISSUER), now).is_ok(),
        "the key of the root may be kept elsewhere"
    );
}
