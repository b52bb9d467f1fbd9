//! The system call filter of a sandbox.
//!
//! The namespaces decide what an agent can reach. The filter removes kernel interfaces that no agent needs and that
//! have been used to break out of namespaces, or around rules for sockets. A refused call fails with `EPERM`; `clone3`
//! fails with `ENOSYS`, so that the C library uses `clone`, whose flags a filter can read.

use std::collections::BTreeMap;

use nix::libc;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that are always refused.
const REFUSED_CALLS: [i64; 32] = [
    libc::SYS_add_key,
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_move_pages,
    libc::SYS_name_to_handle_at,
    libc::SYS_nfsservctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_userfaultfd,
];

/// Calls that change mounts or namespaces: refused unless the agent has a sandbox of its own.
const NAMESPACE_CALLS: [i64; 11] = [
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// Flags of `clone` and `unshare` that create a namespace.
const NAMESPACE_FLAGS: u64 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u64;

/// System calls of the x32 ABI have this bit set on x86-64.
const X32_BIT: i64 = 0x4000_0000;

/// Multipath TCP, which goes around filters for TCP.
const IPPROTO_MPTCP: u64 = 262;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Applies the filter to this thread and everything that it starts.
pub(super) fn apply(can_nest: bool) -> Result<(), seccompiler::Error> {
    let refused = compile(refused_rules(can_nest)?, libc::EPERM)?;
    if !can_nest {
        let missing = Rules::from([(libc::SYS_clone3, Vec::new())]);
        seccompiler::apply_filter(&compile(missing, libc::ENOSYS)?)?;
    }
    seccompiler::apply_filter(&refused)
}

/// Compiles a filter that fails the calls with an error number and allows all others.
fn compile(rules: Rules, error: i32) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules = rules;
    if cfg!(target_arch = "x86_64") {
        let x32: Rules = rules.iter().map(|(call, rules)| (call | X32_BIT, rules.clone())).collect();
        rules.extend(x32);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let action = SeccompAction::Errno(error.unsigned_abs());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?)
}

fn refused_rules(can_nest: bool) -> Result<Rules, BackendError> {
    let mut rules: Rules = REFUSED_CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, socket_rules()?);
    rules.insert(libc::SYS_socketpair, family_rules()?);
    // Input into the terminal of another process.
    let terminal_input = |request| is(1, SeccompCmpOp::Eq, request);
    rules.insert(
        libc::SYS_ioctl,
        vec![
            SeccompRule::new(vec![terminal_input(libc::TIOCSTI)?])?,
            SeccompRule::new(vec![terminal_input(libc::TIOCLINUX)?])?,
        ],
    );
    if !can_nest {
        rules.extend(NAMESPACE_CALLS.into_iter().map(|call| (call, Vec::new())));
        for call in [libc::SYS_clone, libc::SYS_unshare] {
            rules.insert(call, namespace_rules()?);
        }
    }
    Ok(rules)
}

/// Refuses each flag that creates a namespace.
fn namespace_rules() -> Result<Vec<SeccompRule>, BackendError> {
    let flags = (0..u64::BITS).map(|bit| 1_u64 << bit).filter(|flag| NAMESPACE_FLAGS & flag != 0);
    flags.map(|flag| SeccompRule::new(vec![is_long(0, SeccompCmpOp::MaskedEq(flag), flag)?])).collect()
}

/// Refuses all socket families but local, internet and route netlink, and of those raw sockets and Multipath TCP.
fn socket_rules() -> Result<Vec<SeccompRule>, BackendError> {
    // The type has flags such as `SOCK_CLOEXEC` in higher bits.
    let raw = is(1, SeccompCmpOp::MaskedEq(0xf), libc::SOCK_RAW)?;
    let packet = is(1, SeccompCmpOp::MaskedEq(0xf), 10)?;
    let netlink = || is(0, SeccompCmpOp::Eq, libc::AF_NETLINK);
    let mut rules = family_rules()?;
    rules.push(SeccompRule::new(vec![is(0, SeccompCmpOp::Ne, libc::AF_NETLINK)?, raw])?);
    rules.push(SeccompRule::new(vec![packet])?);
    rules.push(SeccompRule::new(vec![netlink()?, is(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE)?])?);
    rules.push(SeccompRule::new(vec![condition(2, SeccompCmpOp::Eq, IPPROTO_MPTCP)?])?);
    Ok(rules)
}

/// Refuses socket families other than local, internet and netlink.
fn family_rules() -> Result<Vec<SeccompRule>, BackendError> {
    let allowed = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let others: Result<Vec<_>, _> = allowed.iter().map(|family| is(0, SeccompCmpOp::Ne, *family)).collect();
    Ok(vec![SeccompRule::new(others?)?])
}

fn is(
    argument: u8,
    operator: SeccompCmpOp,
    value: impl TryInto<u64>,
) -> Result<SeccompCondition, BackendError> {
    condition(argument, operator, value.try_into().unwrap_or(u64::MAX))
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn is_long(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_filters_compile() {
        for can_nest in [false, true] {
            let rules = refused_rules(can_nest).expect("valid conditions");
            assert_eq!(rules.contains_key(&libc::SYS_mount), !can_nest);
            compile(rules, libc::EPERM).expect("a program");
        }
    }
}
