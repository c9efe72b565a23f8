"""The same engine behind other buses, as a device in Verilog may have them."""

APB_AND_TCDM = """\
module products (
    input wire clk, input wire reset_n, output wire busy,
    input wire psel, input wire penable, input wire pwrite, input wire [7:0] paddr, input wire [31:0] pwdata,
    output wire [31:0] prdata, output wire pready,
    output wire tcdm_req, input wire tcdm_gnt, output wire [31:0] tcdm_add, output wire tcdm_wen,
    output wire [3:0] tcdm_be,
    output wire [31:0] tcdm_data, input wire [31:0] tcdm_r_data, input wire tcdm_r_valid
);
  wire is_write;
  assign tcdm_wen = !is_write;
  engine inner (
      .clk(clk), .reset(!reset_n), .busy(busy), .reg_valid(psel && penable), .reg_write(pwrite), .reg_address(paddr),
      .reg_wdata(pwdata), .reg_rdata(prdata), .reg_ready(pready), .mem_request(tcdm_req), .mem_write(is_write),
      .mem_address(tcdm_add), .mem_wdata(tcdm_data), .mem_strobe(tcdm_be), .mem_grant(tcdm_gnt),
      .mem_rvalid(tcdm_r_valid), .mem_rdata(tcdm_r_data)
  );
endmodule
"""

AXI_LITE_AND_AXI = """\
module products (
    input wire clk, input wire reset, output wire busy,
    input wire s_axil_awvalid, output wire s_axil_awready, input wire [7:0] s_axil_awaddr,
    input wire s_axil_wvalid, output wire s_axil_wready, input wire [31:0] s_axil_wdata,
    output reg s_axil_bvalid, input wire s_axil_bready,
    input wire s_axil_arvalid, output wire s_axil_arready, input wire [7:0] s_axil_araddr,
    output reg s_axil_rvalid, input wire s_axil_rready, output reg [31:0] s_axil_rdata,
    output wire m_axi_awvalid, input wire m_axi_awready, output wire [31:0] m_axi_awaddr, output wire [7:0] m_axi_awlen,
    output wire m_axi_wvalid, input wire m_axi_wready, output wire [31:0] m_axi_wdata, output wire [3:0] m_axi_wstrb,
    input wire m_axi_bvalid, output wire m_axi_bready, output wire m_axi_wlast,
    output wire m_axi_arvalid, input wire m_axi_arready, output wire [31:0] m_axi_araddr, output wire [7:0] m_axi_arlen,
    input wire m_axi_rvalid, output wire m_axi_rready, input wire [31:0] m_axi_rdata
);
  // A register is written once address and data have come, which they may in any order.
  reg has_address, has_data;
  reg [7:0] address;
  reg [31:0] data;
  wire writes = has_address && has_data && !s_axil_bvalid;
  wire reads = s_axil_arvalid && s_axil_arready;
  wire [31:0] read_data;
  assign s_axil_awready = !has_address;
  assign s_axil_wready = has_address && !has_data;
  assign s_axil_arready = !s_axil_rvalid;
  always @(posedge clk) begin
    if (s_axil_awvalid && s_axil_awready) begin
      has_address <= 1'b1;
      address <= s_axil_awaddr;
    end
    if (s_axil_wvalid && s_axil_wready) begin
      has_data <= 1'b1;
      data <= s_axil_wdata;
    end
    if (writes) begin
      s_axil_bvalid <= 1'b1;
      has_address <= 1'b0;
      has_data <= 1'b0;
    end
    if (s_axil_bvalid && s_axil_bready) s_axil_bvalid <= 1'b0;
    if (reads) begin
      s_axil_rvalid <= 1'b1;
      s_axil_rdata <= read_data;
    end
    if (s_axil_rvalid && s_axil_rready) s_axil_rvalid <= 1'b0;
    if (reset) {has_address, has_data, s_axil_bvalid, s_axil_rvalid} <= 4'd0;
  end

  // Single words, one transfer at a time: a write is over when it is answered.
  wire request, is_write;
  reg is_asked, is_sent;
  assign m_axi_awvalid = request && is_write && !is_asked;
  assign m_axi_wvalid = request && is_write && !is_sent;
  assign m_axi_wlast = 1'b1;
  assign m_axi_arvalid = request && !is_write && !is_asked;
  assign m_axi_awlen = 8'd0;
  assign m_axi_arlen = 8'd0;
  assign m_axi_awaddr = m_axi_araddr;
  assign m_axi_bready = 1'b1;
  assign m_axi_rready = 1'b1;
  // What was read is handed on one cycle behind the grant, as the engine expects it.
  wire grant = is_write ? m_axi_bvalid : m_axi_rvalid;
  reg is_there;
  reg [31:0] there;
  always @(posedge clk) begin
    is_there <= m_axi_rvalid;
    there <= m_axi_rdata;
    if ((m_axi_awvalid && m_axi_awready) || (m_axi_arvalid && m_axi_arready)) is_asked <= 1'b1;
    if (m_axi_wvalid && m_axi_wready) is_sent <= 1'b1;
    if (m_axi_bvalid || m_axi_rvalid || reset) {is_asked, is_sent} <= 2'd0;
  end
  engine inner (
      .clk(clk), .reset(reset), .busy(busy), .reg_valid(writes || reads), .reg_write(writes),
      .reg_address(writes ? address : s_axil_araddr), .reg_wdata(data), .reg_rdata(read_data), .reg_ready(),
      .mem_request(request), .mem_write(is_write), .mem_address(m_axi_araddr), .mem_wdata(m_axi_wdata),
      .mem_strobe(m_axi_wstrb), .mem_grant(grant), .mem_rvalid(is_there), .mem_rdata(there)
  );
endmodule
"""
