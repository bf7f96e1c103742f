//! [`Operator::lock_order`]: in which order all programs take their locks.

use super::Operator;
use crate::error::SetupError;
use crate::order::{Graph, OrderEdge, namespace_of};
use crate::store::Reply;

impl Operator {
    /// The order in which the programs of this store take their locks, for all namespaces: the edges that any client
    /// has written within the last week. Clients write their edges again once a day. Contradicting edges are marked as
    /// [`inverted`](OrderEdge::inverted).
    ///
    /// # Errors
    ///
    /// [`SetupError`] if the store cannot be asked, or the user may not call `HGETALL`.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use auto_mutex::operator::Operator;
    ///
    /// let operator = Operator::connect("memory://shop")?;
    /// for edge in operator.lock_order()? {
    ///     println!("{} {edge}", if edge.inverted { "INVERTED" } else { "" });
    /// }
    /// # Ok(()) }
    /// ```
    pub fn lock_order(&self) -> Result<Vec<OrderEdge>, SetupError> {
        let found = self.worker.run(async |inspector| {
            let mut found = Vec::new();
            for name in inspector.orders().await? {
                let reply = inspector.order(&name).await?;
                found.push((name, reply));
            }
            Ok::<_, SetupError>(found)
        })??;
        let mut edges = Vec::new();
        for (name, reply) in found {
            if let Some(namespace) = namespace_of(name.as_str())
                && let Reply::Order { edges: records, .. } = reply
            {
                edges.extend(Graph::of(&records).edges(namespace.as_deref()));
            }
        }
        Ok(edges)
    }
}
